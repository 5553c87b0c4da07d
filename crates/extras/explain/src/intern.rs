//! Numbers for things that come again and again: names of threads, stacks of addresses. What comes
//! first gets a number; beyond a limit all new ones share the last, so that memory stays bounded.

use std::{borrow::Borrow, collections::HashMap, hash::Hash};

/// Values by number. Number 0 is the value that stands for "too many".
#[derive(Debug)]
pub struct Interner<T> {
    values: Vec<T>,
    numbers: HashMap<T, u32>,
    limit: usize,
}

impl<T: Clone + Eq + Hash> Interner<T> {
    pub fn new(other: T, limit: usize) -> Interner<T> {
        Interner { values: vec![other], numbers: HashMap::new(), limit }
    }

    pub fn number<Q>(&mut self, value: &Q) -> u32
    where
        T: Borrow<Q>,
        Q: ?Sized + Eq + Hash + ToOwned<Owned = T>,
    {
        if let Some(number) = self.numbers.get(value) {
            return *number;
        }
        if self.values.len() > self.limit {
            return 0;
        }
        let number = self.values.len() as u32;
        self.values.push(value.to_owned());
        self.numbers.insert(value.to_owned(), number);
        number
    }

    pub fn value(&self, number: u32) -> &T {
        &self.values[number as usize]
    }

    pub fn len(&self) -> usize {
        self.values.len() - 1
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_value_keeps_its_number_and_memory_is_bounded() {
        let mut names = Interner::new("others".to_string(), 2);
        let (first, second) = (names.number("a"), names.number("b"));
        assert_eq!((names.number("a"), names.number("b")), (first, second));
        assert_eq!(names.value(names.numbers["b"]), "b");
        assert_eq!((names.number("c"), names.len()), (0, 2));
        assert_eq!(names.value(0), "others");
    }
}
