//! The market against a model that is as simple as can be: a list of orders, looked through from its beginning.

use pickfs_fix::codec::Decimal;
use pickfs_fix::market::{
    Answer, ClOrdId, Exchange, Execution, Limits, Order, OrderType, Request, Side, Symbol,
    TimeInForce,
};
use proptest::prelude::*;

type Kind = (OrderType, TimeInForce);

const REST: Kind = (OrderType::Limit, TimeInForce::Rest);

fn id(name: u8) -> ClOrdId {
    ClOrdId::new(&[name]).unwrap()
}

fn new(name: u8, session: u32, side: Side, [price, quantity]: [i64; 2], kind: Kind) -> Request {
    Request::New(Order {
        session,
        id: 0,
        cl_ord_id: id(name),
        symbol: Symbol::new(b"ACME").unwrap(),
        side,
        order_type: kind.0,
        time_in_force: kind.1,
        price: Decimal::whole(if kind.0 == OrderType::Market { 0 } else { price }),
        quantity: Decimal::whole(quantity),
        cumulative: Decimal::ZERO,
        value: 0,
    })
}

/// Of a session. Names are small numbers, so that they are met again.
fn request() -> impl Strategy<Value = (u32, Request)> {
    let side = prop_oneof![Just(Side::Buy), Just(Side::Sell)];
    let kind = prop::sample::select(vec![
        REST,
        REST,
        (OrderType::Limit, TimeInForce::ImmediateOrCancel),
        (OrderType::Limit, TimeInForce::FillOrKill),
        (OrderType::Market, TimeInForce::Rest),
    ]);
    let new = (0..30u8, 0..3u32, side, 1..8i64, 1..20i64, kind).prop_map(
        |(name, session, side, p, q, kind)| (session, new(name, session, side, [p, q], kind)),
    );
    let cancel = (0..30u8, 0..3u32).prop_map(|(name, session)| {
        (session, Request::Cancel { cl_ord_id: id(200), orig_cl_ord_id: id(name) })
    });
    let replace =
        (0..30u8, 0..30u8, 0..3u32, 1..8i64, 1..20i64).prop_map(|(name, to, session, p, q)| {
            let (cl_ord_id, orig_cl_ord_id) = (id(to), id(name));
            let (price, quantity) = (Decimal::whole(p), Decimal::whole(q));
            (session, Request::Replace { cl_ord_id, orig_cl_ord_id, quantity, price })
        });
    prop_oneof![6 => new, 1 => cancel, 2 => replace]
}

/// What the model says: session, name, what happened, price and quantity of a trade, what is left.
type Said = (u32, ClOrdId, &'static str, Decimal, Decimal, i64);

#[derive(Default)]
struct Model {
    orders: Vec<Order>,
    said: Vec<Said>,
}

fn left(order: &Order) -> i64 {
    order.quantity.0 - order.cumulative.0
}

impl Model {
    fn say(&mut self, order: &Order, what: &'static str, price: Decimal, quantity: Decimal) {
        let left = if what == "canceled" { 0 } else { left(order) };
        self.said.push((order.session, order.cl_ord_id, what, price, quantity, left));
    }

    fn tell(&mut self, order: &Order, what: &'static str) {
        self.say(order, what, Decimal::ZERO, Decimal::ZERO);
    }

    fn refuse(&mut self, session: u32, name: ClOrdId, what: &'static str) {
        self.said.push((session, name, what, Decimal::ZERO, Decimal::ZERO, 0));
    }

    fn find(&self, session: u32, name: ClOrdId) -> Option<usize> {
        self.orders.iter().position(|order| order.session == session && order.cl_ord_id == name)
    }

    fn best(&self, taker: &Order) -> Option<usize> {
        let takes = |price: Decimal| match (taker.order_type, taker.side) {
            (OrderType::Market, _) => true,
            (_, Side::Buy) => taker.price >= price,
            (_, Side::Sell) => taker.price <= price,
        };
        let is_other = |order: &Order| order.side != taker.side && takes(order.price);
        let others = self.orders.iter().enumerate().filter(|(_, order)| is_other(order));
        // The first of the smallest keys: at one price, who came first.
        let sign = if taker.side == Side::Buy { 1 } else { -1 };
        others.min_by_key(|(_, order)| sign * order.price.0).map(|(at, _)| at)
    }

    fn work(&mut self, mut taker: Order) {
        while left(&taker) > 0 {
            let Some(at) = self.best(&taker) else { break };
            let quantity = left(&self.orders[at]).min(left(&taker));
            taker.cumulative.0 += quantity;
            self.orders[at].cumulative.0 += quantity;
            let maker = self.orders[at];
            self.say(&taker, "trade", maker.price, Decimal(quantity));
            self.say(&maker, "trade", maker.price, Decimal(quantity));
            if left(&maker) == 0 {
                self.orders.remove(at);
            }
        }
        if left(&taker) > 0 {
            match (taker.order_type, taker.time_in_force) {
                REST => self.orders.push(taker),
                _ => self.tell(&taker, "canceled"),
            }
        }
    }

    fn available(&self, taker: &Order) -> i64 {
        let mut copy = Model { orders: self.orders.clone(), said: Vec::new() };
        let taken = std::iter::from_fn(|| copy.best(taker).map(|at| copy.orders.remove(at)));
        taken.map(|order| left(&order)).sum()
    }

    fn take(&mut self, session: u32, request: Request) {
        match request {
            Request::New(order) => {
                if self.find(session, order.cl_ord_id).is_some() {
                    return self.refuse(session, order.cl_ord_id, "rejected");
                }
                self.tell(&order, "new");
                let is_all_or_none = order.time_in_force == TimeInForce::FillOrKill;
                if is_all_or_none && self.available(&order) < order.quantity.0 {
                    return self.tell(&order, "canceled");
                }
                self.work(order);
            }
            Request::Cancel { cl_ord_id, orig_cl_ord_id } => {
                let Some(at) = self.find(session, orig_cl_ord_id) else {
                    return self.refuse(session, cl_ord_id, "refused");
                };
                let order = self.orders.remove(at);
                self.tell(&Order { cl_ord_id, ..order }, "canceled");
            }
            Request::Replace { cl_ord_id, orig_cl_ord_id, quantity, price } => {
                let is_taken =
                    cl_ord_id != orig_cl_ord_id && self.find(session, cl_ord_id).is_some();
                let found = self.find(session, orig_cl_ord_id).filter(|_| !is_taken);
                let Some(at) = found.filter(|at| quantity > self.orders[*at].cumulative) else {
                    return self.refuse(session, cl_ord_id, "refused");
                };
                let old = self.orders[at];
                let order = Order { cl_ord_id, price, quantity, ..old };
                self.tell(&order, "replaced");
                if price == old.price && quantity <= old.quantity {
                    self.orders[at] = order;
                } else {
                    self.orders.remove(at);
                    self.work(order);
                }
            }
        }
    }
}

fn said(answer: &Answer) -> Said {
    let nothing = Decimal::ZERO;
    let report = match answer {
        Answer::CancelReject(reject) => {
            return (reject.session, reject.cl_ord_id, "refused", nothing, nothing, 0);
        }
        Answer::Report(report) => report,
    };
    let order = &report.order;
    let (what, price, quantity) = match report.execution {
        Execution::New => ("new", nothing, nothing),
        Execution::Trade { price, quantity } => ("trade", price, quantity),
        Execution::Canceled => ("canceled", nothing, nothing),
        Execution::Replaced => ("replaced", nothing, nothing),
        Execution::Rejected { .. } => ("rejected", nothing, nothing),
    };
    let left = if matches!(what, "canceled" | "rejected") { 0 } else { order.leaves().0 };
    (order.session, order.cl_ord_id, what, price, quantity, left)
}

proptest! {
    #[test]
    fn the_market_says_what_the_model_says(requests in prop::collection::vec(request(), 1..120)) {
        let mut exchange = Exchange::new(Limits { orders_max: 1000, symbols_max: 1 });
        let mut model = Model::default();
        let mut answers = Vec::new();
        for (session, request) in requests {
            model.take(session, request);
            exchange.take(session, request, 0, &mut answers);
        }
        prop_assert_eq!(answers.iter().map(said).collect::<Vec<_>>(), model.said);
        prop_assert_eq!(exchange.resting(), model.orders.len());
        let numbers: Vec<u64> = answers.iter().map(Answer::exec_id).collect();
        prop_assert_eq!(numbers, (1..=answers.len() as u64).collect::<Vec<_>>());
    }
}

#[test]
fn a_full_market_rejects_and_has_room_again() {
    let mut exchange = Exchange::new(Limits { orders_max: 1, symbols_max: 1 });
    let mut answers = Vec::new();
    let new = |name| new(name, 0, Side::Buy, [1, 1], REST);
    let cancel = Request::Cancel { cl_ord_id: id(200), orig_cl_ord_id: id(1) };
    for request in [new(1), new(2), cancel, new(3)] {
        exchange.take(0, request, 0, &mut answers);
    }
    let what: Vec<_> = answers.iter().map(|answer| said(answer).2).collect();
    assert_eq!(what, ["new", "rejected", "canceled", "new"]);
}
