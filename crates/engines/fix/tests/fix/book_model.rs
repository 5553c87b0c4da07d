//! The market against a model that is as simple as can be: a list of orders, looked through from its beginning.

use pickfs_fix::codec::Decimal;
use pickfs_fix::market::{
    Answer, ClOrdId, Exchange, Execution, Limits, Order, OrderType, Request, Side, Symbol,
    TimeInForce,
};
use proptest::prelude::*;

/// Names are small numbers, so that they are met again.
#[derive(Debug, Clone)]
enum Ask {
    New {
        name: u8,
        session: u32,
        side: Side,
        price: i64,
        quantity: i64,
        kind: (OrderType, TimeInForce),
    },
    Cancel {
        name: u8,
        session: u32,
    },
    Replace {
        name: u8,
        new_name: u8,
        session: u32,
        price: i64,
        quantity: i64,
    },
}

fn ask() -> impl Strategy<Value = Ask> {
    let side = prop_oneof![Just(Side::Buy), Just(Side::Sell)];
    let kind = prop::sample::select(vec![
        (OrderType::Limit, TimeInForce::Rest),
        (OrderType::Limit, TimeInForce::Rest),
        (OrderType::Limit, TimeInForce::ImmediateOrCancel),
        (OrderType::Limit, TimeInForce::FillOrKill),
        (OrderType::Market, TimeInForce::Rest),
    ]);
    let new = (0..30u8, 0..3u32, side, 1..8i64, 1..20i64, kind).prop_map(
        |(name, session, side, price, quantity, kind)| Ask::New {
            name,
            session,
            side,
            price,
            quantity,
            kind,
        },
    );
    let cancel = (0..30u8, 0..3u32).prop_map(|(name, session)| Ask::Cancel { name, session });
    let replace = (0..30u8, 0..30u8, 0..3u32, 1..8i64, 1..20i64).prop_map(
        |(name, new_name, session, price, quantity)| Ask::Replace {
            name,
            new_name,
            session,
            price,
            quantity,
        },
    );
    prop_oneof![6 => new, 1 => cancel, 2 => replace]
}

#[derive(Debug, Clone, PartialEq)]
struct Plain {
    session: u32,
    name: u8,
    side: Side,
    price: i64,
    quantity: i64,
    filled: i64,
    kind: (OrderType, TimeInForce),
}

/// What the model says: session, name, what happened, price and quantity of a trade, what is left.
type Said = (u32, u8, &'static str, i64, i64, i64);

#[derive(Default)]
struct Model {
    orders: Vec<Plain>,
    said: Vec<Said>,
}

impl Model {
    fn say(&mut self, order: &Plain, what: &'static str, price: i64, quantity: i64) {
        let left = if what == "canceled" { 0 } else { order.quantity - order.filled };
        self.said.push((order.session, order.name, what, price, quantity, left));
    }

    fn find(&self, session: u32, name: u8) -> Option<usize> {
        self.orders.iter().position(|order| order.session == session && order.name == name)
    }

    fn best(&self, taker: &Plain) -> Option<usize> {
        let takes = |price: i64| match (taker.kind.0, taker.side) {
            (OrderType::Market, _) => true,
            (_, Side::Buy) => taker.price >= price,
            (_, Side::Sell) => taker.price <= price,
        };
        let others = self
            .orders
            .iter()
            .enumerate()
            .filter(|(_, order)| order.side != taker.side && takes(order.price));
        // The first of the smallest keys: at one price, who came first.
        others
            .min_by_key(
                |(_, order)| if taker.side == Side::Buy { order.price } else { -order.price },
            )
            .map(|(at, _)| at)
    }

    fn work(&mut self, mut taker: Plain) {
        while taker.filled < taker.quantity {
            let Some(at) = self.best(&taker) else { break };
            let price = self.orders[at].price;
            let left = self.orders[at].quantity - self.orders[at].filled;
            let quantity = left.min(taker.quantity - taker.filled);
            taker.filled += quantity;
            self.orders[at].filled += quantity;
            let maker = self.orders[at].clone();
            self.say(&taker.clone(), "trade", price, quantity);
            self.say(&maker, "trade", price, quantity);
            if maker.filled == maker.quantity {
                self.orders.remove(at);
            }
        }
        if taker.filled < taker.quantity {
            match taker.kind {
                (OrderType::Limit, TimeInForce::Rest) => self.orders.push(taker),
                _ => self.say(&taker, "canceled", 0, 0),
            }
        }
    }

    fn available(&self, taker: &Plain) -> i64 {
        let mut copy = Model { orders: self.orders.clone(), said: Vec::new() };
        let mut sum = 0;
        while let Some(at) = copy.best(taker) {
            sum += copy.orders[at].quantity - copy.orders[at].filled;
            copy.orders.remove(at);
        }
        sum
    }

    fn take(&mut self, ask: &Ask) {
        match ask.clone() {
            Ask::New { name, session, side, price, quantity, kind } => {
                let order = Plain { session, name, side, price, quantity, filled: 0, kind };
                if self.find(session, name).is_some() {
                    return self.said.push((session, name, "rejected", 0, 0, 0));
                }
                self.say(&order, "new", 0, 0);
                if kind.1 == TimeInForce::FillOrKill && self.available(&order) < quantity {
                    return self.say(&order, "canceled", 0, 0);
                }
                self.work(order);
            }
            Ask::Cancel { name, session } => match self.find(session, name) {
                Some(at) => {
                    let order = self.orders.remove(at);
                    self.say(&Plain { name: 200, ..order }, "canceled", 0, 0);
                }
                None => self.said.push((session, 200, "refused", 0, 0, 0)),
            },
            Ask::Replace { name, new_name, session, price, quantity } => {
                let is_taken = new_name != name && self.find(session, new_name).is_some();
                let found = self.find(session, name);
                let Some(at) = found.filter(|at| !is_taken && quantity > self.orders[*at].filled)
                else {
                    return self.said.push((session, new_name, "refused", 0, 0, 0));
                };
                let old = self.orders[at].clone();
                let order = Plain { name: new_name, price, quantity, ..old.clone() };
                self.say(&order, "replaced", 0, 0);
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

fn id(name: u8) -> ClOrdId {
    ClOrdId::new(&[name]).unwrap()
}

fn request(ask: &Ask) -> (u32, Request) {
    match *ask {
        Ask::New { name, session, side, price, quantity, kind } => {
            let order = Order {
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
            };
            (session, Request::New(order))
        }
        Ask::Cancel { name, session } => {
            (session, Request::Cancel { cl_ord_id: id(200), orig_cl_ord_id: id(name) })
        }
        Ask::Replace { name, new_name, session, price, quantity } => {
            let (price, quantity) = (Decimal::whole(price), Decimal::whole(quantity));
            (
                session,
                Request::Replace {
                    cl_ord_id: id(new_name),
                    orig_cl_ord_id: id(name),
                    quantity,
                    price,
                },
            )
        }
    }
}

fn said(answer: &Answer) -> Said {
    let whole = |decimal: Decimal| decimal.0 / Decimal::whole(1).0;
    let report = match answer {
        Answer::CancelReject(reject) => {
            return (reject.session, reject.cl_ord_id.as_bytes()[0], "refused", 0, 0, 0);
        }
        Answer::Report(report) => report,
    };
    let order = &report.order;
    let (what, price, quantity) = match report.execution {
        Execution::New => ("new", 0, 0),
        Execution::Trade { price, quantity } => ("trade", whole(price), whole(quantity)),
        Execution::Canceled => ("canceled", 0, 0),
        Execution::Replaced => ("replaced", 0, 0),
        Execution::Rejected { .. } => ("rejected", 0, 0),
    };
    let left = if matches!(what, "canceled" | "rejected") { 0 } else { whole(order.leaves()) };
    (order.session, order.cl_ord_id.as_bytes()[0], what, price, quantity, left)
}

proptest! {
    #[test]
    fn the_market_says_what_the_model_says(asks in prop::collection::vec(ask(), 1..120)) {
        let mut exchange = Exchange::new(Limits { orders_max: 1000, symbols_max: 1 });
        let mut model = Model::default();
        let mut answers = Vec::new();
        for ask in &asks {
            model.take(ask);
            let (session, request) = request(ask);
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
    let kind = (OrderType::Limit, TimeInForce::Rest);
    let new = |name| Ask::New { name, session: 0, side: Side::Buy, price: 1, quantity: 1, kind };
    for ask in [new(1), new(2), Ask::Cancel { name: 1, session: 0 }, new(3)] {
        let (session, request) = request(&ask);
        exchange.take(session, request, 0, &mut answers);
    }
    let what: Vec<_> = answers.iter().map(|answer| said(answer).2).collect();
    assert_eq!(what, ["new", "rejected", "canceled", "new"]);
}
