//! What a metric looks at where its plan does not say: the response time in an open loop, else the service time.

use crate::expand::expand;
use pickfs_analysis::panels::applies;
use pickfs_record::{
    Durability, Plan,
    plan::{Metric, View},
    trial::WITH_FINAL_SYNC,
};
use pickfs_workload::command::metric::MetricAsk;
use serde_json::Value;

/// The plan may have been changed since it was read: a closed loop has none.
pub fn settle(plan: &mut Plan) {
    let Ok(workload) = pickfs_workload::find(&plan.workload) else { return };
    let Ok(expansion) = expand(plan, workload, |_| Durability::PowerLoss) else { return };
    let metrics = match plan.params.get("metrics") {
        Some(Value::Array(all)) => &all[..],
        Some(one) => std::slice::from_ref(one),
        None => &[],
    };
    let asks = metrics.iter().filter_map(|text| text.as_str()?.parse::<MetricAsk>().ok());
    let of_log: Vec<String> = asks.filter(MetricAsk::has_response).map(|ask| ask.name).collect();
    let has_response = |metric: &Metric| {
        let op = metric.op.strip_suffix(WITH_FINAL_SYNC).unwrap_or(&metric.op);
        let is_scheduled = workload.scheduled.contains(&op) || of_log.iter().any(|name| name == op);
        is_scheduled
            && expansion.cells.iter().filter(|cell| applies(metric, cell)).all(|cell| {
                cell.workload.params.get("arrival").is_none_or(|arrival| arrival != "closed")
            })
    };
    for metric in &mut plan.design.primary {
        if metric.view != View::Service && !has_response(metric) {
            metric.view = View::Service;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plans::planned;

    fn views(name: &str) -> Vec<View> {
        planned(name).design.primary.into_iter().map(|metric| metric.view).collect()
    }

    #[test]
    fn an_open_loop_is_ranked_by_the_response_time() {
        for name in ["quick", "journal", "trust", "queue", "pair-degrees", "dispute-latency"] {
            assert!(views(name).iter().all(|view| *view == View::Response), "{name}");
        }
    }

    /// An engine's own step has no due time, nor has a phase.
    #[test]
    fn what_no_schedule_waits_for_is_ranked_by_the_service_time() {
        pickfs_engine_workloads::add();
        for name in ["fix", "pair", "column", "files", "dispute-capacity"] {
            assert!(views(name).iter().all(|view| *view == View::Service), "{name}");
        }
    }

    /// One metric may be a text instead of a list.
    #[test]
    fn a_log_whose_response_times_are_named_is_ranked_by_them() {
        let mut plan = planned("queue-chronicle");
        plan.params.insert("metrics".into(), "append=hlog:q.hlog#append,due".into());
        settle(&mut plan);
        assert_eq!(plan.design.primary[0].view, View::Response);
    }

    #[test]
    fn a_plan_that_is_closed_later_falls_back() {
        let mut plan = planned("quick");
        plan.params.insert("arrival".into(), "closed".into());
        settle(&mut plan);
        assert_eq!(plan.design.primary[0].view, View::Service);
    }
}
