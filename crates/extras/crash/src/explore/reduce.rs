//! Of a state that fails, one with few lost pieces that still does: halves of them are given back, then quarters, and at
//! last single ones, until no single piece can be given back.

use super::state::{Kept, State};
use crate::model::Windows;

/// After so many looks the smallest so far is taken.
pub fn reduced(
    state: &State,
    windows: &Windows<'_>,
    looks: usize,
    fails: &mut dyn FnMut(&State) -> bool,
) -> State {
    let of = |lost: &[usize]| State { kept: Kept::without(lost.to_vec()), ..state.clone() };
    let mut left = looks;
    let mut is_failing = |lost: &[usize]| {
        let smaller = of(lost);
        if left == 0 || smaller.remains(windows).is_err() {
            return false;
        }
        left -= 1;
        fails(&smaller)
    };
    // A failure may have nothing to do with what is lost.
    if is_failing(&[]) {
        return of(&[]);
    }
    let mut lost = state.lost(windows);
    let mut length = lost.len().div_ceil(2);
    while length > 0 {
        let before = lost.len();
        let mut at = 0;
        while at < lost.len() && lost.len() > 1 {
            let rest = [&lost[..at], &lost[(at + length).min(lost.len())..]].concat();
            match is_failing(&rest) {
                true => lost = rest,
                false => at += length,
            }
        }
        // One that was needed may be needed no more when others are back.
        let is_over = length > 1 || lost.len() == before;
        length = if is_over { length / 2 } else { length };
    }
    of(&lost)
}
