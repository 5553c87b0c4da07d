#![allow(unsafe_code)]

use crate::cpu::number_list;
use std::io;
use std::path::Path;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    pub number: u32,
    /// Ascending.
    pub processors: Vec<u32>,
}

/// Those that have processors, by number; empty where the kernel knows of none.
pub fn nodes() -> Vec<Node> {
    nodes_in(Path::new("/sys/devices/system/node"))
}

fn nodes_in(folder: &Path) -> Vec<Node> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let node = |entry: io::Result<std::fs::DirEntry>| {
        let entry = entry.ok()?;
        let number = entry.file_name().to_str()?.strip_prefix("node")?.parse().ok()?;
        let text = std::fs::read_to_string(entry.path().join("cpulist")).ok()?;
        let processors = number_list(text.trim());
        (!processors.is_empty()).then_some(Node { number, processors })
    };
    let mut nodes: Vec<Node> = entries.filter_map(node).collect();
    nodes.sort_by_key(|node| node.number);
    nodes
}

/// The node of one of several that take them in turn; none where there is nothing to choose.
pub fn in_turn(nodes: &[Node], number: u32) -> Option<&Node> {
    (nodes.len() > 1).then(|| &nodes[number as usize % nodes.len()])
}

/// For memory that the calling thread will touch. Fails where the kernel has no memory policies.
pub fn bind_memory_to(node: &Node) -> io::Result<()> {
    let bits = u64::BITS as usize;
    let mut mask = vec![0u64; node.number as usize / bits + 1];
    mask[node.number as usize / bits] |= 1 << (node.number as usize % bits);
    // The kernel reads one bit less than it is told (set_mempolicy(2), BUGS of the raw call).
    let bits_told = mask.len() * bits + 1;
    // SAFETY: the mask lives over the call and holds at least the bits that are told.
    let told = unsafe {
        libc::syscall(libc::SYS_set_mempolicy, libc::MPOL_BIND, mask.as_ptr(), bits_told)
    };
    if told == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_without_processors_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        for (name, list) in [("node1", "4-5,7\n"), ("node0", "0-3\n"), ("node2", "\n")] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
            std::fs::write(folder.path().join(name).join("cpulist"), list).unwrap();
        }
        std::fs::create_dir(folder.path().join("power")).unwrap();
        let nodes = nodes_in(folder.path());
        assert_eq!(nodes.len(), 2);
        assert_eq!((nodes[1].number, nodes[1].processors.as_slice()), (1, &[4, 5, 7][..]));
        let turns = [0, 1, 2, 3].map(|lane| in_turn(&nodes, lane).map(|node| node.number));
        assert_eq!(turns, [Some(0), Some(1), Some(0), Some(1)]);
        assert_eq!(in_turn(&nodes[..1], 0), None);
        assert!(nodes_in(&folder.path().join("gone")).is_empty());
    }

    #[test]
    fn memory_of_a_node_that_exists_can_be_bound() {
        let Some(node) = nodes().into_iter().next() else { return };
        std::thread::spawn(move || bind_memory_to(&node).unwrap()).join().unwrap();
    }
}
