use serde_json::Value;
use spdx::{Expression, LicenseReq, ParseMode};

/// What we accept. Weak copyleft (MPL, LGPL) is not among them: none is needed.
pub const ALLOWED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
    "bzip2-1.0.6",
];

/// True when an SPDX expression (or the older `A/B` for "or") can be met by [`ALLOWED`].
pub fn is_allowed(expression: &str) -> bool {
    let read = Expression::parse_mode(expression, ParseMode::LAX);
    let is_met = |asked: &LicenseReq| ALLOWED.contains(&asked.to_string().as_str());
    read.is_ok_and(|read| read.evaluate(is_met))
}

/// In the output of `cargo metadata`.
pub fn breaches(metadata: &Value) -> Vec<String> {
    let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    packages.iter().filter_map(breach).collect()
}

fn breach(package: &Value) -> Option<String> {
    let licence = package["license"].as_str().unwrap_or("no licence");
    let name = package["name"].as_str().unwrap_or("a package without a name");
    (!is_allowed(licence)).then(|| format!("{name} is under {licence}, which is not allowed"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn either_and_both() {
        assert!(is_allowed("MIT/Apache-2.0"));
        assert!(is_allowed("(MIT OR Apache-2.0) AND Unicode-3.0"));
        assert!(is_allowed("GPL-3.0-only OR Zlib"));
        assert!(is_allowed("Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT"));
    }

    #[test]
    fn copyleft_and_nonsense_are_found() {
        for licence in ["GPL-3.0-only", "MPL-2.0", "MIT AND LGPL-2.1-only", "(MIT", "MIT MIT", ""] {
            assert!(!is_allowed(licence), "{licence}");
        }
        let metadata =
            json!({"packages": [{"name": "a", "license": "MIT"}, {"name": "b", "license": null}]});
        assert_eq!(breaches(&metadata), ["b is under no licence, which is not allowed"]);
    }
}
