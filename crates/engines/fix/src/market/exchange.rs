use std::collections::HashMap;

use super::answer::{Answer, CancelReject, Execution, Report};
use super::book::{Book, Slab};
use super::order::{ClOrdId, Symbol};
use super::order::{Order, OrderType, Side, TimeInForce};
use super::request::Request;
use crate::codec::Decimal;
use crate::store::SessionNumber;

/// Room for all of it is taken at the beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub orders_max: usize,
    pub symbols_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { orders_max: 100_000, symbols_max: 256 }
    }
}

pub struct Exchange {
    market: Market,
    answers_given: u64,
}

struct Market {
    limits: Limits,
    slab: Slab,
    books: Vec<Book>,
    symbols: HashMap<Symbol, u32>,
    /// Resting orders by who gave them and how they called them.
    names: HashMap<(SessionNumber, ClOrdId), u32>,
    orders_seen: u64,
}

impl Exchange {
    pub fn new(limits: Limits) -> Self {
        let mut names = HashMap::with_capacity(limits.orders_max);
        // Written once, so that the first orders meet no page faults.
        names.extend((0..limits.orders_max as u32).map(|at| ((at, ClOrdId::default()), 0)));
        names.clear();
        let market = Market {
            limits,
            slab: Slab::new(limits.orders_max, blank()),
            books: Vec::with_capacity(limits.symbols_max),
            symbols: HashMap::with_capacity(limits.symbols_max),
            names,
            orders_seen: 0,
        };
        Exchange { market, answers_given: 0 }
    }

    pub fn resting(&self) -> usize {
        self.market.names.len()
    }

    pub fn answers_given(&self) -> u64 {
        self.answers_given
    }

    /// `None`: there never was an order in it.
    pub fn book(&self, symbol: &Symbol) -> Option<&Book> {
        self.market.symbols.get(symbol).map(|at| &self.market.books[*at as usize])
    }

    pub fn take(
        &mut self,
        session: SessionNumber,
        request: Request,
        time_ns: u64,
        answers: &mut Vec<Answer>,
    ) {
        let reply = &mut Reply { given: &mut self.answers_given, time_ns, answers };
        match request {
            Request::New(order) => self.market.new_order(order, reply),
            Request::Cancel { cl_ord_id, orig_cl_ord_id } => {
                self.market.cancel(session, [cl_ord_id, orig_cl_ord_id], reply);
            }
            Request::Replace { cl_ord_id, orig_cl_ord_id, quantity, price } => {
                let names = [cl_ord_id, orig_cl_ord_id];
                self.market.replace(session, names, quantity, price, reply);
            }
        }
    }

    /// An order that the risk check did not allow: it is rejected, and no book sees it.
    pub fn refuse(&mut self, order: Order, time_ns: u64, answers: &mut Vec<Answer>) {
        let mut reply = Reply { given: &mut self.answers_given, time_ns, answers };
        // OrdRejReason 3: the order exceeds a limit.
        let execution = Execution::Rejected { reason: 3, text: "refused by the risk check" };
        reply.report(execution, self.market.see(order), None);
    }
}

impl Market {
    fn see(&mut self, order: Order) -> Order {
        self.orders_seen += 1;
        Order { id: self.orders_seen, ..order }
    }

    fn new_order(&mut self, order: Order, reply: &mut Reply<'_>) {
        let order = self.see(order);
        let book = match self.book_for(&order) {
            Ok(book) => book,
            Err((reason, text)) => {
                return reply.report(Execution::Rejected { reason, text }, order, None);
            }
        };
        reply.report(Execution::New, order, None);
        let is_killed = order.time_in_force == TimeInForce::FillOrKill
            && !self.books[book].can_fill(&self.slab, &order);
        match is_killed {
            true => reply.report(Execution::Canceled, order, None),
            false => self.work(book, order, reply),
        }
    }

    fn cancel(&mut self, session: SessionNumber, names: [ClOrdId; 2], reply: &mut Reply<'_>) {
        let Some(at) = self.names.remove(&(session, names[1])) else {
            return reply.refuse(session, names, None, false, UNKNOWN);
        };
        let order = *self.slab.order(at);
        let book = self.symbols[&order.symbol] as usize;
        self.books[book].remove(&mut self.slab, at);
        self.slab.take(at);
        let order = Order { cl_ord_id: names[0], ..order };
        reply.report(Execution::Canceled, order, Some(names[1]));
    }

    /// The place of its book, or why it is not taken: OrdRejReason and words.
    fn book_for(&mut self, order: &Order) -> Result<usize, (u64, &'static str)> {
        if self.names.contains_key(&(order.session, order.cl_ord_id)) {
            return Err((6, "an order of this name rests already"));
        }
        if !self.slab.has_room() {
            return Err((3, "the book is full: orders_max"));
        }
        if let Some(at) = self.symbols.get(&order.symbol) {
            return Ok(*at as usize);
        }
        if self.books.len() == self.limits.symbols_max {
            return Err((1, "too many symbols: symbols_max"));
        }
        self.symbols.insert(order.symbol, self.books.len() as u32);
        self.books.push(Book::default());
        Ok(self.books.len() - 1)
    }

    fn work(&mut self, book: usize, mut order: Order, reply: &mut Reply<'_>) {
        while let Some((traded, freed)) = self.books[book].trade(&mut self.slab, &mut order) {
            let execution = Execution::Trade { price: traded.price, quantity: traded.quantity };
            reply.report(execution, order, None);
            reply.report(execution, traded.resting, None);
            if let Some(at) = freed {
                self.names.remove(&(traded.resting.session, traded.resting.cl_ord_id));
                self.slab.take(at);
            }
        }
        let rests =
            order.order_type == OrderType::Limit && order.time_in_force == TimeInForce::Rest;
        if order.leaves() == Decimal::ZERO {
            return;
        }
        if !rests {
            return reply.report(Execution::Canceled, order, None);
        }
        let at = self.slab.add(order);
        self.names.insert((order.session, order.cl_ord_id), at);
        self.books[book].rest(&mut self.slab, at);
    }

    /// Less at the same price keeps its place; anything else goes behind the others, and may trade.
    fn replace(
        &mut self,
        session: SessionNumber,
        names: [ClOrdId; 2],
        quantity: Decimal,
        price: Decimal,
        reply: &mut Reply<'_>,
    ) {
        let [cl_ord_id, orig_cl_ord_id] = names;
        let Some(&at) = self.names.get(&(session, orig_cl_ord_id)) else {
            return reply.refuse(session, names, None, true, UNKNOWN);
        };
        let old = *self.slab.order(at);
        let is_taken =
            cl_ord_id != orig_cl_ord_id && self.names.contains_key(&(session, cl_ord_id));
        if quantity <= old.cumulative || is_taken {
            let text =
                if is_taken { "the new name is taken" } else { "as much was filled already" };
            return reply.refuse(session, names, Some(old.id), true, text);
        }
        self.names.remove(&(session, orig_cl_ord_id));
        let order = Order { cl_ord_id, quantity, price, ..old };
        reply.report(Execution::Replaced, order, Some(orig_cl_ord_id));
        if price == old.price && quantity <= old.quantity {
            *self.slab.order_mut(at) = order;
            self.names.insert((session, cl_ord_id), at);
            return;
        }
        let book = self.symbols[&order.symbol] as usize;
        self.books[book].remove(&mut self.slab, at);
        self.slab.take(at);
        self.work(book, order, reply);
    }
}

const UNKNOWN: &str = "no order of this name rests";

struct Reply<'a> {
    given: &'a mut u64,
    time_ns: u64,
    answers: &'a mut Vec<Answer>,
}

impl Reply<'_> {
    fn number(&mut self) -> u64 {
        *self.given += 1;
        *self.given
    }

    fn report(&mut self, execution: Execution, order: Order, orig_cl_ord_id: Option<ClOrdId>) {
        let (exec_id, time_ns) = (self.number(), self.time_ns);
        let report = Report { exec_id, execution, order, orig_cl_ord_id, time_ns };
        self.answers.push(Answer::Report(report));
    }

    fn refuse(
        &mut self,
        session: SessionNumber,
        [cl_ord_id, orig_cl_ord_id]: [ClOrdId; 2],
        order_id: Option<u64>,
        is_replace: bool,
        text: &'static str,
    ) {
        let exec_id = self.number();
        self.answers.push(Answer::CancelReject(CancelReject {
            session,
            exec_id,
            cl_ord_id,
            orig_cl_ord_id,
            order_id,
            is_replace,
            text,
        }));
    }
}

fn blank() -> Order {
    Order {
        session: 0,
        id: 0,
        cl_ord_id: ClOrdId::default(),
        symbol: Symbol::default(),
        side: Side::Buy,
        order_type: OrderType::Limit,
        time_in_force: TimeInForce::Rest,
        price: Decimal::ZERO,
        quantity: Decimal::ZERO,
        cumulative: Decimal::ZERO,
        value: 0,
    }
}
