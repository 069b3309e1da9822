//! Does a file hold a password or a key? By the forms that services give theirs, and by names with
//! a text behind them.

/// What keys begin with, how many signs follow at least, and whose they are.
const KEYS: [(&str, usize, &str); 10] = [
    ("AKIA", 16, "a key of Amazon Web Services"),
    ("ghp_", 30, "a token of GitHub"),
    ("github_pat_", 30, "a token of GitHub"),
    ("glpat-", 18, "a token of GitLab"),
    ("hf_", 30, "a token of Hugging Face"),
    ("sk-", 32, "a key of a model service"),
    ("xoxb-", 20, "a token of Slack"),
    ("nvapi-", 30, "a key of NVIDIA"),
    ("AIza", 34, "a key of Google"),
    ("eyJhbGciOi", 40, "a signed token"),
];

/// What a file holds that nobody else should have; None: nothing that is known.
pub fn find(text: &str) -> Option<String> {
    let line_of = |at: usize| 1 + text[..at].matches('\n').count();
    if let Some(at) = text.find("-----BEGIN ")
        && text[at..].lines().next().is_some_and(|line| line.contains("PRIVATE KEY-----"))
    {
        return Some(format!("line {} begins a private key", line_of(at)));
    }
    for (start, least, whose) in KEYS {
        let is_sign = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let long = |at: usize| text[at + start.len()..].chars().take_while(|&c| is_sign(c)).count() >= least;
        let begins = |at: usize| !text[..at].ends_with(is_sign);
        if let Some((at, _)) = text.match_indices(start).find(|(at, _)| begins(*at) && long(*at)) {
            return Some(format!("line {} has what looks like {whose}", line_of(at)));
        }
    }
    text.lines()
        .enumerate()
        .find_map(|(n, line)| named(line).map(|name| format!("line {} gives `{name}` a text", n + 1)))
}

/// The name of a secret that a line sets.
fn named(line: &str) -> Option<&str> {
    const NAMES: [&str; 6] = ["password", "passwd", "api_key", "apikey", "secret", "access_token"];
    let (name, value) = line.split_once('=')?;
    let name = name.split(':').next()?.trim();
    let value = value.trim();
    let is_text = value.len() >= 10 && value.starts_with(['"', '\'']) && !value.contains(' ');
    let lower = name.to_lowercase();
    (is_text && NAMES.iter().any(|word| lower.ends_with(word))).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_and_code_is_not() {
        let key = format!("x = 1\ntoken = \"hf_{}\"\n", "a1".repeat(17));
        assert_eq!(find(&key).as_deref(), Some("line 2 has what looks like a token of Hugging Face"));
        assert_eq!(find("DB_PASSWORD = \"hunter2hunter2\"\n").as_deref(), Some("line 1 gives `DB_PASSWORD` a text"));
        assert!(find("-----BEGIN RSA PRIVATE KEY-----\n").is_some());
        for code in
            ["hf_scale = 2.0\n", "task-sk-1 = a - b\n", "password = ask()\n", "secret = wp.rand_init(seed, i)\n"]
        {
            assert_eq!(find(code), None, "{code}");
        }
    }
}
