use super::order::ClOrdId;
use super::order::{FORMAT_INCORRECT, TAG_MISSING, TYPE_INVALID, VALUE_INCORRECT};
use super::order::{Order, OrderType, Side, TimeInForce};
use crate::codec::{Decimal, Kind, Message, tag};
use crate::store::SessionNumber;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    New(Order),
    Cancel {
        cl_ord_id: ClOrdId,
        orig_cl_ord_id: ClOrdId,
    },
    Replace {
        /// Of the request, and of the order from then on.
        cl_ord_id: ClOrdId,
        orig_cl_ord_id: ClOrdId,
        /// All of it, with what was filled.
        quantity: Decimal,
        price: Decimal,
    },
}

/// Why a message is not even a request: the answer is a session-level Reject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused {
    /// SessionRejectReason.
    pub reason: u64,
    /// RefTagID; 0 where there is none.
    pub tag: u32,
}

#[derive(Default)]
struct Parts<'a> {
    cl_ord_id: &'a [u8],
    orig_cl_ord_id: &'a [u8],
    symbol: &'a [u8],
    side: &'a [u8],
    quantity: &'a [u8],
    price: &'a [u8],
    order_type: &'a [u8],
    time_in_force: &'a [u8],
}

impl<'a> Parts<'a> {
    #[inline]
    fn of(message: &Message<'a>) -> Parts<'a> {
        let mut parts = Parts::default();
        for field in message.body().filter_map(Result::ok) {
            let part = match field.tag {
                tag::CL_ORD_ID => &mut parts.cl_ord_id,
                tag::ORIG_CL_ORD_ID => &mut parts.orig_cl_ord_id,
                tag::SYMBOL => &mut parts.symbol,
                tag::SIDE => &mut parts.side,
                tag::ORDER_QTY => &mut parts.quantity,
                tag::PRICE => &mut parts.price,
                tag::ORD_TYPE => &mut parts.order_type,
                tag::TIME_IN_FORCE => &mut parts.time_in_force,
                _ => continue,
            };
            *part = field.value;
        }
        parts
    }

    fn side(&self) -> Result<Side, Refused> {
        match self.side {
            b"1" => Ok(Side::Buy),
            b"2" => Ok(Side::Sell),
            other => Err(refused(other, tag::SIDE, VALUE_INCORRECT)),
        }
    }

    fn order_type(&self) -> Result<OrderType, Refused> {
        match self.order_type {
            b"1" => Ok(OrderType::Market),
            b"2" => Ok(OrderType::Limit),
            other => Err(refused(other, tag::ORD_TYPE, VALUE_INCORRECT)),
        }
    }

    fn time_in_force(&self) -> Result<TimeInForce, Refused> {
        match self.time_in_force {
            b"" | b"0" | b"1" => Ok(TimeInForce::Rest),
            b"3" => Ok(TimeInForce::ImmediateOrCancel),
            b"4" => Ok(TimeInForce::FillOrKill),
            other => Err(refused(other, tag::TIME_IN_FORCE, VALUE_INCORRECT)),
        }
    }
}

/// A value that is empty was not there.
fn refused(value: &[u8], tag: u32, reason: u64) -> Refused {
    Refused { reason: if value.is_empty() { TAG_MISSING } else { reason }, tag }
}

fn text<const N: usize>(value: &[u8], tag: u32) -> Result<super::InlineText<N>, Refused> {
    let filled = Some(value).filter(|value| !value.is_empty());
    let text = filled.and_then(super::InlineText::new);
    text.ok_or_else(|| refused(value, tag, VALUE_INCORRECT))
}

fn decimal(value: &[u8], tag: u32) -> Result<Decimal, Refused> {
    Decimal::parse(value).ok_or_else(|| refused(value, tag, FORMAT_INCORRECT))
}

/// The largest quantity and price: products and sums of them stay within 128 and 64 bits.
const LARGEST: Decimal = Decimal::whole(1_000_000_000);

fn positive(value: &[u8], tag: u32) -> Result<Decimal, Refused> {
    let number = decimal(value, tag)?;
    match number > Decimal::ZERO && number <= LARGEST {
        true => Ok(number),
        false => Err(Refused { reason: VALUE_INCORRECT, tag }),
    }
}

impl Request {
    pub fn of(message: &Message<'_>, session: SessionNumber) -> Result<Request, Refused> {
        let parts = Parts::of(message);
        match message.header.kind {
            Kind::NewOrderSingle => new_order(&parts, session),
            Kind::OrderCancelRequest => cancel(&parts),
            Kind::OrderCancelReplaceRequest => replace(&parts),
            _ => Err(Refused { reason: TYPE_INVALID, tag: tag::MSG_TYPE }),
        }
    }
}

fn new_order(parts: &Parts<'_>, session: SessionNumber) -> Result<Request, Refused> {
    let order_type = parts.order_type()?;
    Ok(Request::New(Order {
        session,
        id: 0,
        cl_ord_id: text(parts.cl_ord_id, tag::CL_ORD_ID)?,
        symbol: text::<16>(parts.symbol, tag::SYMBOL)?,
        side: parts.side()?,
        order_type,
        time_in_force: parts.time_in_force()?,
        price: match order_type {
            OrderType::Market => Decimal::ZERO,
            OrderType::Limit => positive(parts.price, tag::PRICE)?,
        },
        quantity: positive(parts.quantity, tag::ORDER_QTY)?,
        cumulative: Decimal::ZERO,
        value: 0,
    }))
}

fn cancel(parts: &Parts<'_>) -> Result<Request, Refused> {
    Ok(Request::Cancel {
        cl_ord_id: text(parts.cl_ord_id, tag::CL_ORD_ID)?,
        orig_cl_ord_id: text(parts.orig_cl_ord_id, tag::ORIG_CL_ORD_ID)?,
    })
}

fn replace(parts: &Parts<'_>) -> Result<Request, Refused> {
    Ok(Request::Replace {
        cl_ord_id: text(parts.cl_ord_id, tag::CL_ORD_ID)?,
        orig_cl_ord_id: text(parts.orig_cl_ord_id, tag::ORIG_CL_ORD_ID)?,
        quantity: positive(parts.quantity, tag::ORDER_QTY)?,
        price: positive(parts.price, tag::PRICE)?,
    })
}
