//! A structure of fixed length whose fields are set at their offsets, in the byte order of its
//! format.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Little,
    Big,
}

/// Offsets are in bytes from its beginning.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    bytes: Vec<u8>,
    order: Order,
}

macro_rules! number {
    ($set:ident, $type:ty) => {
        pub(crate) fn $set(&mut self, offset: usize, value: $type) -> &mut Self {
            let bytes = match self.order {
                Order::Little => value.to_le_bytes(),
                Order::Big => value.to_be_bytes(),
            };
            self.set(offset, &bytes)
        }
    };
}

impl Record {
    /// Low byte first.
    pub(crate) fn little(length: usize) -> Self {
        Self { bytes: vec![0; length], order: Order::Little }
    }

    /// High byte first.
    pub(crate) fn big(length: usize) -> Self {
        Self { bytes: vec![0; length], order: Order::Big }
    }

    pub(crate) fn set(&mut self, offset: usize, bytes: &[u8]) -> &mut Self {
        self.bytes[offset..offset + bytes.len()].copy_from_slice(bytes);
        self
    }

    number!(set_u8, u8);
    number!(set_u16, u16);
    number!(set_u32, u32);
    number!(set_u64, u64);

    pub(crate) fn u32_at(&self, offset: usize) -> u32 {
        let bytes = self.bytes[offset..offset + 4].try_into().expect("four bytes");
        match self.order {
            Order::Little => u32::from_le_bytes(bytes),
            Order::Big => u32::from_be_bytes(bytes),
        }
    }

    /// Counted from the lowest of the first byte.
    pub(crate) fn set_bit_low_first(&mut self, offset: usize, bit: u64) -> &mut Self {
        self.bytes[offset + (bit / 8) as usize] |= 1 << (bit % 8);
        self
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl From<Record> for Vec<u8> {
    fn from(record: Record) -> Self {
        record.bytes
    }
}
