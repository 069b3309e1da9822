//! How is the journal kept? One line per finished shard, which ends with the SHA-256 of what is
//! before it.

use std::collections::BTreeMap;

use serde_json::json;

use super::{Shard, sha256};

/// What is between a line and its sum.
const SUM: &str = ",\"sha256\":\"";

/// The line of a shard.
pub fn line(shard: &Shard) -> String {
    let text = json!(shard).to_string();
    let sum = sha256(text.as_bytes());
    let open = text.strip_suffix('}').unwrap_or(&text);
    format!("{open}{SUM}{sum}\"}}\n")
}

/// What a journal says.
#[derive(Default)]
pub struct Journal {
    /// By number.
    pub shards: BTreeMap<u64, Shard>,
    /// What is wrong with it. A last line that was cut off by a kill is not: its shard is made
    /// again.
    pub faults: Vec<String>,
}

/// Reads a journal. Lines that are not what was written stand for no shard.
pub fn read(text: &str) -> Journal {
    let mut journal = Journal::default();
    let mut faults = Vec::new();
    for (n, line) in text.split_inclusive('\n').enumerate() {
        let Some(whole) = line.strip_suffix('\n') else { break };
        let mut note = |fault: &str| faults.push(format!("line {} {fault}", n + 1));
        let parsed = match whole.rsplit_once(SUM) {
            Some((open, sum)) => {
                // What a kill cut off was ended by the run that went on.
                let Some(sum) = sum.strip_suffix("\"}") else { continue };
                let text = format!("{open}}}");
                if sum != sha256(text.as_bytes()) {
                    note("is not what was written: its SHA-256 differs");
                    continue;
                }
                serde_json::from_str::<Shard>(&text)
            }
            None => serde_json::from_str(whole).inspect(|_| note("has no SHA-256")),
        };
        let Ok(shard) = parsed else { continue };
        if journal.shards.contains_key(&shard.shard) {
            note(&format!("names shard {} again", shard.shard));
        }
        journal.shards.insert(shard.shard, shard);
    }
    journal.faults = faults;
    journal
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shard(number: u64) -> Shard {
        serde_json::from_value(json!({"shard": number, "files": [], "tally": super::super::Tally::default()}))
            .expect("a shard")
    }

    #[test]
    fn any_changed_byte_of_a_line_is_seen() {
        let text = line(&shard(3)) + &line(&shard(4));
        let whole = read(&text);
        assert_eq!(whole.shards.keys().copied().collect::<Vec<_>>(), [3, 4]);
        assert!(whole.faults.is_empty());
        let first = text.find('\n').expect("two lines");
        for at in 0..first {
            let mut bytes = text.clone().into_bytes();
            bytes[at] ^= 1;
            let Ok(changed) = String::from_utf8(bytes) else { continue };
            let journal = read(&changed);
            assert!(!journal.shards.contains_key(&3) || !journal.faults.is_empty(), "byte {at}: {changed}");
        }
    }

    #[test]
    fn a_line_that_was_cut_off_is_no_fault_and_no_shard() {
        let (first, second) = (line(&shard(3)), line(&shard(4)));
        for end in 0..first.len() - 1 {
            for text in [first[..end].to_string(), format!("{}\n{second}", &first[..end])] {
                let journal = read(&text);
                assert!(!journal.shards.contains_key(&3), "{text}");
                assert_eq!(journal.shards.contains_key(&4), text.ends_with(&second), "{text}");
                assert!(journal.faults.is_empty(), "{text}");
            }
        }
        let twice = read(&(first.clone() + &first));
        assert_eq!(twice.faults, ["line 2 names shard 3 again"]);
    }
}
