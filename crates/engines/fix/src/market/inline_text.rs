use std::fmt;

/// Up to `N` bytes, in place.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct InlineText<const N: usize> {
    bytes: [u8; N],
    length: u8,
}

pub type ClOrdId = InlineText<32>;
pub type Symbol = InlineText<16>;

impl<const N: usize> Default for InlineText<N> {
    fn default() -> Self {
        InlineText { bytes: [0; N], length: 0 }
    }
}

impl<const N: usize> InlineText<N> {
    /// `None` for more than `N` bytes.
    pub fn new(text: &[u8]) -> Option<Self> {
        let mut inline = Self::default();
        inline.bytes.get_mut(..text.len())?.copy_from_slice(text);
        inline.length = u8::try_from(text.len()).ok()?;
        Some(inline)
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

impl<const N: usize> fmt::Debug for InlineText<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", String::from_utf8_lossy(self.as_bytes()))
    }
}
