//! Large suites run by a sample: one case of so many. `KC_TESTS=all` runs them whole.

#![allow(dead_code, reason = "each test binary uses its own part")]

/// Whether suites run whole.
pub fn whole() -> bool {
    std::env::var("KC_TESTS").is_ok_and(|which| which == "all")
}

/// The cases that run: the first of each `of`.
pub fn sampled<T>(cases: impl IntoIterator<Item = T>, of: usize) -> Vec<T> {
    let every = if whole() { 1 } else { of };
    cases.into_iter().step_by(every).collect()
}
