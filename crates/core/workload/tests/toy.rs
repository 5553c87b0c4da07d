//! What a workload must write: this, and one line in a table.

use pickfs_record::Durability;
use pickfs_testkit::{fake_spec, params};
use pickfs_workload::{Fault, Measured, Prepared, Session, Workload, add, all, find};

static TOYS: &[Workload] = &[Workload {
    name: "toy",
    about: "counts to three",
    ops: |_| vec!["count".into()],
    durability: |_| Durability::Nothing,
    prepare: |_| Ok(Box::new(Counted(0))),
    ..Workload::LOOP
}];

struct Counted(u64);

impl Prepared for Counted {
    fn measure(&mut self, _: &Session) -> Result<Measured, Fault> {
        self.0 = 3;
        Ok(Measured::default())
    }

    fn verify(&mut self, _: &Session) -> Result<u64, Fault> {
        Ok(self.0)
    }
}

#[test]
fn a_workload_writes_three_functions_and_is_there() -> Result<(), Fault> {
    add(TOYS);
    let toy = find("toy").expect("it was added");
    let spec = fake_spec("toy", "/".as_ref(), params(serde_json::json!({})));
    let session = Session::new(spec, None).expect("no parameter is wrong");
    assert_eq!(session.ops, ["count"]);
    let mut prepared = toy.make_ready(&session)?;
    assert_eq!((prepared.warm_up(&session)?, prepared.notes().len()), (0, 0));
    prepared.measure(&session)?;
    assert_eq!(prepared.verify(&session)?, 3);
    let refused = (toy.play)(&session).expect_err("it plays nothing");
    assert_eq!(refused.to_string(), "toy has no role appender");
    assert!(all().all(|row| !row.name.is_empty() && !row.about.is_empty()));
    Ok(())
}
