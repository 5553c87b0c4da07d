//! What the market says: an ExecutionReport or an OrderCancelReject, and how it stands in a message.

use super::inline_text::ClOrdId;
use super::order::{Order, OrderType};
use crate::codec::{Decimal, Encoder, Version, tag};
use crate::store::SessionNumber;

/// What happened to an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Execution {
    /// It was taken.
    New,
    /// It was filled, wholly or in part.
    Trade {
        /// At this price.
        price: Decimal,
        /// So much.
        quantity: Decimal,
    },
    /// It is gone.
    Canceled,
    /// It has other terms now.
    Replaced,
    /// It was not taken.
    Rejected {
        /// OrdRejReason.
        reason: u64,
        /// In words.
        text: &'static str,
    },
}

/// An ExecutionReport.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report {
    /// Its number, from 1.
    pub exec_id: u64,
    /// What happened.
    pub execution: Execution,
    /// The order behind it.
    pub order: Order,
    /// The name of the order before a cancel or a replace.
    pub orig_cl_ord_id: Option<ClOrdId>,
    /// When, in nanoseconds since 1970: the time of the message that caused it.
    pub time_ns: u64,
}

/// An OrderCancelReject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CancelReject {
    /// To whom.
    pub session: SessionNumber,
    /// Its number, from 1: counted with the reports.
    pub exec_id: u64,
    /// Name of the request.
    pub cl_ord_id: ClOrdId,
    /// Name of the order that it meant.
    pub orig_cl_ord_id: ClOrdId,
    /// Our number of that order, where there is one.
    pub order_id: Option<u64>,
    /// Whether a replace was asked for, rather than a cancel.
    pub is_replace: bool,
    /// In words.
    pub text: &'static str,
}

/// One message to a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// An ExecutionReport.
    Report(Report),
    /// An OrderCancelReject.
    CancelReject(CancelReject),
}

impl Answer {
    /// To whom it goes.
    pub fn session(&self) -> SessionNumber {
        match self {
            Answer::Report(report) => report.order.session,
            Answer::CancelReject(reject) => reject.session,
        }
    }

    /// Its number: no two answers have the same.
    pub fn exec_id(&self) -> u64 {
        match self {
            Answer::Report(report) => report.exec_id,
            Answer::CancelReject(reject) => reject.exec_id,
        }
    }

    /// MsgType.
    pub fn msg_type(&self) -> &'static [u8] {
        match self {
            Answer::Report(_) => b"8",
            Answer::CancelReject(_) => b"9",
        }
    }

    /// Writes its body.
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

    /// What is still open: nothing of an order that is gone.
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
