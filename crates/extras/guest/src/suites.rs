//! What Debian's suites offer for guests: an older or a later kernel is a package of another
//! suite. apt fetches the lists with a configuration of its own, so that it checks their
//! signatures (apt-secure(8)) and nothing of the machine's apt changes; what pickfs needs of them
//! is kept as one small table.
//! An archive is fetched by apt-helper, which compares it with the SHA-256 of the signed list.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use crate::{
    apt::{MIRROR, NotDone, OwnLists, said},
    debian_kernel,
    packages::{PackageError, cannot},
    version::Version,
};

/// Suites that hold kernels for guests. From forky on a kernel's image is in a package of its own.
pub const SUITES: &[&str] =
    &["bullseye", "bookworm", "trixie", "bookworm-backports", "trixie-backports"];
/// About, of all suites together.
pub const LISTS_BYTES: u64 = 40_000_000;
/// How old the table may be where it lacks what is asked for.
const FRESH: Duration = Duration::from_secs(86_400);
const APT_HELPER: &str = "/usr/lib/apt/apt-helper";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    pub package: String,
    pub version: Version,
    /// With a blank between.
    pub suites: String,
    /// On a mirror.
    pub path: String,
    /// Of its archive.
    pub bytes: u64,
    /// Of its archive, in hexadecimal.
    pub sha256: String,
    /// As its list says.
    pub depends: String,
}

#[derive(Debug, Clone)]
pub struct Suites {
    folder: PathBuf,
}

impl Suites {
    /// It need not be there.
    pub fn at(cache: &Path) -> Self {
        Self { folder: cache.join("suites") }
    }

    /// The newest last; asks nobody.
    pub fn offers(&self, package: &str) -> Vec<Offer> {
        let text = fs::read_to_string(self.table()).unwrap_or_default();
        let mut offers: Vec<Offer> = text.lines().filter_map(offer_of_line).collect();
        offers.retain(|offer| offer.package == package);
        offers.sort_by(|one, other| one.version.cmp(&other.version));
        offers
    }

    /// Made within the last day.
    pub fn is_fresh(&self) -> bool {
        let made = fs::metadata(self.table()).and_then(|facts| facts.modified());
        made.is_ok_and(|made| made.elapsed().is_ok_and(|age| age < FRESH))
    }

    /// From the lists of all suites. Fails when none of them can be had.
    pub fn refresh(&self) -> Result<(), PackageError> {
        let work = self.folder.join(format!(".lists-{}", std::process::id()));
        let made = self.refresh_in(&work);
        let _ = fs::remove_dir_all(&work);
        made
    }

    fn refresh_in(&self, work: &Path) -> Result<(), PackageError> {
        fs::create_dir_all(work).map_err(cannot("make", work))?;
        let lists = OwnLists::at(work);
        lists.prepare(SUITES, "main").map_err(|error| no_suites(&error.to_string()))?;
        // A suite that is gone is no reason to do without the others: what counts is what comes of it.
        let updated = lists.run("apt-get", &["-q", "update"]);
        let named = lists.run("apt-cache", &["show", debian_kernel::NEWEST]).unwrap_or_default();
        let mut names = vec![debian_kernel::NEWEST];
        names.extend(named.lines().filter_map(image_of_line));
        let shown = lists.run("apt-cache", &[&["show"], names.as_slice()].concat());
        let listed = lists.run("apt-cache", &[&["madison"], names.as_slice()].concat());
        let offers = offers_of(&shown.unwrap_or_default(), &listed.unwrap_or_default());
        if offers.is_empty() {
            let said = updated.err().map(|error| error.to_string());
            return Err(no_suites(said.as_deref().unwrap_or("they name no kernel")));
        }
        let text: String = offers.iter().map(line_of_offer).collect();
        let (made, table) = (work.join("offers"), self.table());
        fs::write(&made, text).map_err(cannot("write", &made))?;
        fs::rename(&made, &table).map_err(cannot("make", &table))
    }

    /// Fails when the archive is not what the signed list says, too.
    pub fn download(&self, offer: &Offer, into: &Path) -> Result<PathBuf, PackageError> {
        let name = offer.path.rsplit('/').next().unwrap_or("archive.deb").replace(':', "%3a");
        let archive = into.join(name);
        let (uri, hash) = (format!("{MIRROR}/{}", offer.path), format!("SHA256:{}", offer.sha256));
        let mut helper = Command::new(APT_HELPER);
        helper
            .args(["-o", "APT::Sandbox::User=root", "download-file", &uri])
            .arg(&archive)
            .arg(&hash);
        let failed = |error: NotDone| {
            let package = format!("{} {}", offer.package, offer.version);
            NotDone::Said(error.to_string()).of("apt-helper", package, &self.folder)
        };
        said(&mut helper).map(|_| archive).map_err(failed)
    }

    fn table(&self) -> PathBuf {
        self.folder.join("offers")
    }
}

fn image_of_line(line: &str) -> Option<&str> {
    debian_kernel::image_of(line.strip_prefix("Depends: ")?)
}

fn no_suites(said: &str) -> PackageError {
    PackageError::NoSuites { said: said.into() }
}

/// From `apt-cache show`, and the suites from `apt-cache madison`.
pub(crate) fn offers_of(shown: &str, listed: &str) -> Vec<Offer> {
    let mut offers: Vec<Offer> = Vec::new();
    for stanza in shown.split("\n\n") {
        let field = |name: &str| {
            stanza.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
        };
        let (Some(package), Some(version)) = (field("Package"), field("Version")) else { continue };
        let (Some(path), Some(sha256)) = (field("Filename"), field("SHA256")) else { continue };
        let offer = Offer {
            package: package.into(),
            version: Version::new(version),
            suites: suites_of(listed, package, version),
            path: path.into(),
            bytes: field("Size").and_then(|bytes| bytes.parse().ok()).unwrap_or(0),
            sha256: sha256.into(),
            depends: field("Depends").unwrap_or_default().into(),
        };
        if !offers.contains(&offer) {
            offers.push(offer);
        }
    }
    offers
}

/// Lines of ` name | version | mirror suite/main amd64 Packages`.
fn suites_of(listed: &str, package: &str, version: &str) -> String {
    let suite = |line: &str| {
        let mut columns = line.split('|').map(str::trim);
        let fits = columns.next() == Some(package) && columns.next() == Some(version);
        let place = columns.next().filter(|_| fits)?.split_whitespace().nth(1)?;
        Some(place.split('/').next().unwrap_or(place).to_owned())
    };
    listed.lines().filter_map(suite).collect::<Vec<_>>().join(" ")
}

fn line_of_offer(offer: &Offer) -> String {
    let Offer { package, version, suites, path, bytes, sha256, depends } = offer;
    format!("{package}\t{version}\t{suites}\t{path}\t{bytes}\t{sha256}\t{depends}\n")
}

fn offer_of_line(line: &str) -> Option<Offer> {
    let mut fields = line.split('\t').map(str::to_owned);
    Some(Offer {
        package: fields.next()?,
        version: Version::new(&fields.next()?),
        suites: fields.next()?,
        path: fields.next()?,
        bytes: fields.next()?.parse().ok()?,
        sha256: fields.next()?,
        depends: fields.next()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHOWN: &str = "Package: linux-image-amd64\nVersion: 6.12.107-1\nDepends: linux-image-6.12 (= 1)\n\
        Filename: pool/l/six-twelve.deb\nSize: 1480\nSHA256: f947\n\n\
        Package: linux-image-amd64\nVersion: 6.1.176-1\nFilename: pool/l/six-one.deb\nSize: 7\n\
        SHA256: 0ce7\n\nPackage: virtual\n";
    const LISTED: &str = "linux-image-amd64 | 6.12.107-1 | http://d/debian trixie/main amd64 Packages\n\
        linux-image-amd64 | 6.12.107-1 | http://d/debian sid/main amd64 Packages\n\
        linux-image-amd64 |  6.1.176-1 | http://d/debian bookworm/main amd64 Packages\n";

    #[test]
    fn offers_are_kept_as_they_were_listed_with_their_suites() {
        let offers = offers_of(SHOWN, LISTED);
        assert_eq!(offers.len(), 2);
        assert_eq!((offers[0].suites.as_str(), offers[0].bytes), ("trixie sid", 1480));
        assert_eq!(offers[0].depends, "linux-image-6.12 (= 1)");
        let cache = tempfile::tempdir().unwrap();
        let suites = Suites::at(cache.path());
        fs::create_dir_all(&suites.folder).unwrap();
        assert!(!suites.is_fresh() && suites.offers("linux-image-amd64").is_empty());
        let text: String = offers.iter().map(line_of_offer).collect();
        fs::write(suites.table(), text).unwrap();
        let kept = suites.offers("linux-image-amd64");
        assert_eq!(kept, [offers[1].clone(), offers[0].clone()], "the newest is last");
        assert!(suites.is_fresh() && suites.offers("libc6").is_empty());
    }
}
