/// Whether we may use them or not.
pub fn online() -> std::io::Result<Vec<u32>> {
    Ok(number_list(&std::fs::read_to_string("/sys/devices/system/cpu/online")?))
}

/// Numbers of a list as the kernel writes it: `0-2,5` is 0, 1, 2 and 5. What is not a number is left
/// out; no more than 65,536 are given.
pub fn number_list(text: &str) -> Vec<u32> {
    let ranges = text.trim().split(',').filter_map(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.trim().parse::<u32>().ok()?..=last.trim().parse::<u32>().ok()?)
    });
    ranges.flatten().take(65_536).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn number_lists_have_ranges_and_singles() {
        assert_eq!(number_list("0-2,5\n"), [0, 1, 2, 5]);
        assert_eq!(number_list("3-1,x,7-"), [] as [u32; 0]);
        assert_eq!(number_list("0-4294967295").len(), 65_536);
    }

    proptest! {
        #[test]
        fn no_list_makes_the_parser_panic(text in "[0-9,\\- x]{0,60}") {
            let _ = number_list(&text);
        }
    }
}
