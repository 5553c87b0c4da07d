use super::order::ClOrdId;
use super::order::{Order, OrderType};
use crate::codec::{Decimal, Encoder, Version, tag};
use crate::store::SessionNumber;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Execution {
    New,
    Trade { price: Decimal, quantity: Decimal },
    Canceled,
    Replaced,
    Rejected { reason: u64, text: &'static str },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report {
    /// From 1.
    pub exec_id: u64,
    pub execution: Execution,
    pub order: Order,
    pub orig_cl_ord_id: Option<ClOrdId>,
    /// Since 1970: the time of the message that caused it.
    pub time_ns: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CancelReject {
    pub session: SessionNumber,
    /// Counted with the reports, from 1.
    pub exec_id: u64,
    pub cl_ord_id: ClOrdId,
    pub orig_cl_ord_id: ClOrdId,
    pub order_id: Option<u64>,
    pub is_replace: bool,
    pub text: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    Report(Report),
    CancelReject(CancelReject),
}

impl Answer {
    pub fn session(&self) -> SessionNumber {
        match self {
            Answer::Report(report) => report.order.session,
            Answer::CancelReject(reject) => reject.session,
        }
    }

    /// No two answers have the same.
    pub fn exec_id(&self) -> u64 {
        match self {
            Answer::Report(report) => report.exec_id,
            Answer::CancelReject(reject) => reject.exec_id,
        }
    }

    pub fn msg_type(&self) -> &'static [u8] {
        match self {
            Answer::Report(_) => b"8",
            Answer::CancelReject(_) => b"9",
        }
    }

    pub fn encode(&self, version: Version, message: &mut Encoder) {
        match self {
            Answer::Report(report) => report.encode(version, message),
            Answer::CancelReject(reject) => reject.encode(message),
        }
    }
}

impl Report {
    fn ord_status(&self) -> &'static [u8] {
        let order = &self.order;
        match self.execution {
            Execution::Rejected { .. } => b"8",
            Execution::Canceled => b"4",
            _ if order.leaves() == Decimal::ZERO => b"2",
            _ if order.cumulative > Decimal::ZERO => b"1",
            // FIX 4.2 has a status of its own for a replaced order; later ones tell it by ExecType alone.
            _ => b"0",
        }
    }

    fn exec_type(&self, version: Version) -> &'static [u8] {
        match self.execution {
            Execution::New => b"0",
            // FIX 4.2 tells fills by 1 and 2, later ones by F.
            Execution::Trade { .. } if version == Version::Fix42 => self.ord_status(),
            Execution::Trade { .. } => b"F",
            Execution::Canceled => b"4",
            Execution::Replaced => b"5",
            Execution::Rejected { .. } => b"8",
        }
    }

    fn encode(&self, version: Version, message: &mut Encoder) {
        let order = &self.order;
        message.uint(tag::ORDER_ID, order.id).uint(tag::EXEC_ID, self.exec_id);
        if version == Version::Fix42 {
            message.bytes(tag::EXEC_TRANS_TYPE, b"0");
        }
        message.bytes(tag::EXEC_TYPE, self.exec_type(version));
        message.bytes(tag::ORD_STATUS, self.ord_status());
        message.bytes(tag::CL_ORD_ID, order.cl_ord_id.as_bytes());
        if let Some(orig) = &self.orig_cl_ord_id {
            message.bytes(tag::ORIG_CL_ORD_ID, orig.as_bytes());
        }
        message.bytes(tag::SYMBOL, order.symbol.as_bytes()).bytes(tag::SIDE, order.side.text());
        message.decimal(tag::ORDER_QTY, order.quantity);
        if order.order_type == OrderType::Limit {
            message.decimal(tag::PRICE, order.price);
        }
        if let Execution::Trade { price, quantity } = self.execution {
            message.decimal(tag::LAST_QTY, quantity).decimal(tag::LAST_PX, price);
        }
        message.decimal(tag::LEAVES_QTY, self.leaves()).decimal(tag::CUM_QTY, order.cumulative);
        message.decimal(tag::AVG_PX, Decimal::average(order.value, order.cumulative));
        message.time(tag::TRANSACT_TIME, self.time_ns);
        if let Execution::Rejected { reason, text } = self.execution {
            message.uint(tag::ORD_REJ_REASON, reason).text(tag::TEXT, text);
        }
    }

    /// Nothing of an order that is gone.
    fn leaves(&self) -> Decimal {
        match self.execution {
            Execution::Canceled | Execution::Rejected { .. } => Decimal::ZERO,
            _ => self.order.leaves(),
        }
    }
}

impl CancelReject {
    fn encode(&self, message: &mut Encoder) {
        match self.order_id {
            Some(id) => message.uint(tag::ORDER_ID, id),
            None => message.text(tag::ORDER_ID, "NONE"),
        };
        message.bytes(tag::CL_ORD_ID, self.cl_ord_id.as_bytes());
        message.bytes(tag::ORIG_CL_ORD_ID, self.orig_cl_ord_id.as_bytes());
        message.bytes(tag::ORD_STATUS, if self.order_id.is_some() { b"0" } else { b"8" });
        message.bytes(tag::CXL_REJ_RESPONSE_TO, if self.is_replace { b"2" } else { b"1" });
        let unknown_order = 1;
        let other = 99;
        let reason = if self.order_id.is_some() { other } else { unknown_order };
        message.uint(tag::CXL_REJ_REASON, reason).text(tag::TEXT, self.text);
    }
}
