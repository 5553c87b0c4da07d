use pickfs_record::{Arrival, Clock, OpIndex, OpRecord, RecorderOptions, SimClock, recorder};
use pickfs_workload::{Bench, Driven, Due, Fault, Pace, Span, Work, drive};

const US: u64 = 1_000;
const MS: u64 = 1_000_000;

/// Each arrival takes what the script says, over and over; 100 bytes an arrival.
struct Scripted {
    clock: SimClock,
    script_ns: Vec<u64>,
    taken: usize,
    /// Somebody else ends it then, as a writer ends its readers.
    stops_at_ns: u64,
}

impl Work for Scripted {
    fn run<C: Clock>(&mut self, clock: &C, arrival: &Due, bench: &mut Bench) -> Result<u64, Fault> {
        self.clock.advance(self.script_ns[self.taken % self.script_ns.len()]);
        self.taken += 1;
        let end_ns = clock.now_ns();
        bench.record(OpIndex(0), arrival.start_ns, end_ns, 0);
        Ok(end_ns)
    }

    fn bytes_written(&self) -> u64 {
        100 * self.taken as u64
    }

    fn is_stopped(&self) -> bool {
        self.clock.now_ns() >= self.stops_at_ns
    }
}

struct Played {
    driven: Driven,
    operations: OpRecord,
    late_by_queue: u64,
    late_by_driver: u64,
}

fn play(arrival: Arrival, script_ns: Vec<u64>, span: Span) -> Played {
    play_until(u64::MAX, arrival, script_ns, span)
}

fn play_until(stops_at_ns: u64, arrival: Arrival, script_ns: Vec<u64>, span: Span) -> Played {
    let clock = SimClock::default();
    clock.advance(123_456_789);
    let mut work = Scripted { clock: clock.clone(), script_ns, taken: 0, stops_at_ns };
    let mut pace = Pace::new(arrival, 1, 0);
    let options =
        RecorderOptions { ops: vec!["op".into()], responses: pace.is_open(), spikes_max: 2 };
    let (operations, keeper) = recorder(&options);
    let mut bench = Bench::new(operations, pace.is_open(), None);
    let driven = drive(&clock, &mut work, &mut pace, &mut bench, span).expect("no fault");
    let lateness = bench.lateness();
    let mut ops = keeper.finish(bench.into_recorder().finish());
    Played {
        driven,
        operations: ops.remove(0),
        late_by_queue: lateness.by_queue,
        late_by_driver: lateness.by_driver,
    }
}

#[test]
fn an_open_loop_takes_every_arrival_that_is_due_in_its_span() {
    let played = play(Arrival::Fixed { rate_per_s: 1e4 }, vec![2 * US], Span::time(500 * MS));
    assert_eq!((played.driven.arrivals, played.driven.measured_ns), (5_000, 500 * MS));
    assert_eq!(
        (played.operations.service.min_ns, played.operations.service.max_ns),
        (2 * US, 2 * US)
    );
    assert_eq!(played.operations.response.expect("open").max_ns, 2 * US);
    assert_eq!((played.late_by_queue, played.late_by_driver), (0, 0));
}

#[test]
fn one_slow_arrival_delays_those_behind_it_and_they_say_so() {
    let mut script_ns = vec![10 * US; 10];
    script_ns[3] = 250 * US;
    let played = play(Arrival::Fixed { rate_per_s: 1e4 }, script_ns, Span::time(MS));
    let response = played.operations.response.expect("open");
    assert_eq!(played.driven.arrivals, 10);
    assert_eq!((response.min_ns, response.max_ns), (10 * US, 250 * US));
    // 250, then 160 and 70 behind it, and seven of 10.
    assert_eq!(response.mean_ns, (250.0 + 160.0 + 70.0 + 7.0 * 10.0) / 10.0 * US as f64);
    assert_eq!((played.late_by_queue, played.late_by_driver), (2, 0));
    assert_eq!(played.operations.service.mean_ns, (250.0 + 9.0 * 10.0) / 10.0 * US as f64);
}

#[test]
fn overload_is_drained_and_shows_in_what_was_done_in_time() {
    let played = play(Arrival::Fixed { rate_per_s: 1e4 }, vec![200 * US], Span::time(100 * MS));
    assert_eq!(
        (played.driven.arrivals, played.driven.in_time, played.driven.missed),
        (1_000, 500, 0)
    );
    assert_eq!((played.driven.measured_ns, played.driven.span_ns), (200 * MS, 100 * MS));
    assert_eq!(played.late_by_queue, 999);
    // The last arrival began at 199.8 ms and was due at 99.9 ms.
    assert_eq!(played.operations.response.expect("open").max_ns, 100_100 * US);
}

/// A stall that outlasts the trial falls on every arrival that was due behind it (rule 20).
#[test]
fn a_stall_across_the_end_is_counted_for_each_arrival_that_waited() {
    let mut script_ns = vec![450 * US; 2_000];
    script_ns[1_200] = 1_390 * MS;
    let played = play(Arrival::Fixed { rate_per_s: 1e3 }, script_ns, Span::time(2_000 * MS));
    assert_eq!((played.driven.arrivals, played.driven.missed), (2_000, 0));
    assert!(played.driven.in_time < 1_300, "{:?}", played.driven);
    for response in [played.operations.response, played.operations.raw_response] {
        let response = response.expect("open");
        assert_eq!((response.count, response.max_ns), (2_000, 1_390 * MS));
        let mean_ms = response.mean_ns / MS as f64;
        // 800 of 2,000 waited, the first 1,390 ms and each next one 0.55 ms less.
        assert!((468.0..469.0).contains(&mean_ms), "{mean_ms}");
    }
}

/// A burst of 100 us comes and goes within a group of them: 1,000 are due in it, 99 behind it.
#[test]
fn arrivals_of_short_bursts_that_never_began_are_counted_exactly() {
    let bursts =
        Arrival::Bursts { rate_per_s: 1e4, factor: 1e3, period_ns: 10 * MS, burst_ns: 100 * US };
    let span = Span { drain_ns: 0, ..Span::time(60_000 * MS) };
    let played = play(bursts, vec![70_000 * MS], span);
    // The very first burst has both of its ends.
    assert_eq!((played.driven.arrivals, played.driven.missed + 1), (1, 6_000 * 1_099 + 1));
    let response = played.operations.response.expect("open");
    assert_eq!((response.count, response.max_ns), (6_594_001, 70_000 * MS));
}

/// What a drain does not reach is late at least by what is known.
#[test]
fn a_arrival_that_never_began_is_a_response_of_what_it_had_waited() {
    let span = Span { drain_ns: 50 * MS, ..Span::time(100 * MS) };
    let played = play(Arrival::Fixed { rate_per_s: 1e4 }, vec![200 * US], span);
    assert_eq!((played.driven.arrivals, played.driven.missed), (750, 250));
    let response = played.operations.response.expect("open");
    assert_eq!((response.count, played.operations.service.count), (1_000, 750));
    // The last one that began was due at 74.9 ms; at 150 ms the others had waited since 75.0 ms and later.
    assert_eq!(response.max_ns, 75_100 * US);
    let mean_ms = response.mean_ns / MS as f64;
    assert!((43.8..44.0).contains(&mean_ms), "{mean_ms}");
}

/// Too many to keep one by one, and none is left out: 10^10 in ten seconds, of which a stall of a minute leaves one.
#[test]
fn a_thousand_million_a_second_that_never_began_are_all_counted() {
    let span = Span { drain_ns: 0, ..Span::time(10_000 * MS) };
    let bursts =
        Arrival::Bursts { rate_per_s: 5e8, factor: 3.0, period_ns: 1_000 * MS, burst_ns: 500 * MS };
    for arrival in
        [Arrival::Fixed { rate_per_s: 1e9 }, Arrival::Poisson { rate_per_s: 1e9 }, bursts]
    {
        let is_exact = matches!(arrival, Arrival::Fixed { .. });
        let played = play(arrival, vec![60_000 * MS], span);
        let response = played.operations.response.expect("open");
        assert_eq!((played.driven.arrivals, response.count), (1, played.driven.missed + 1));
        let apart = response.count as f64 / 1e10 - 1.0;
        assert!(if is_exact { apart == 0.0 } else { apart.abs() < 1e-4 }, "{}", response.count);
        // They were due within ten seconds and had all waited until the sixtieth.
        assert!((response.mean_ns / 55e9 - 1.0).abs() < 0.01, "{response:?}");
    }
}

/// A reader that stalls while its writer ends has kept all waiting that was due by then.
#[test]
fn what_was_due_before_somebody_else_ended_the_work_is_counted() {
    let mut script_ns = vec![10 * US; 100];
    script_ns[50] = 50 * MS;
    let end_ns = 123_456_789 + 50 * MS;
    let arrival = Arrival::Fixed { rate_per_s: 1e4 };
    let played = play_until(end_ns, arrival, script_ns, Span::time(u64::MAX / 4));
    // The stall began at 5.0 ms and ended at 55.0 ms.
    assert_eq!((played.driven.arrivals, played.driven.missed), (51, 499));
    let response = played.operations.response.expect("open");
    assert_eq!((response.count, response.max_ns), (550, 50 * MS));
}

#[test]
fn a_closed_loop_pauses_after_each_arrival_and_has_no_response() {
    let arrival = Arrival::Closed { pause_ns: 50 * US };
    let played = play(arrival, vec![30 * US], Span::time(8 * MS));
    assert_eq!(played.driven.arrivals, 100);
    assert!(played.operations.response.is_none());
}

#[test]
fn a_warm_up_goes_on_until_its_bytes_are_written_or_given_up() {
    let span = |bytes| Span { length_ns: MS, bytes, length_ns_max: 10 * MS, drain_ns: 0 };
    let arrival = || Arrival::Fixed { rate_per_s: 1e4 };
    assert_eq!(play(arrival(), vec![US], span(0)).driven.arrivals, 10);
    assert_eq!(play(arrival(), vec![US], span(5_000)).driven.arrivals, 50);
    assert_eq!(play(arrival(), vec![US], span(1 << 40)).driven.arrivals, 100);
}
