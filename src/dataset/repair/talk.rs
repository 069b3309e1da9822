//! What is said of a fault, turn by turn? Somebody shows a program and what kc reports of it, and
//! gets the cause and the program without it; or the report answers a first try.

use super::cuda::InCuda;
use crate::dataset::random::Random;

/// A fault and what is known of it.
pub struct Told<'a> {
    pub task: &'a str,
    pub kernel: &'a str,
    pub buggy: &'a str,
    pub fixed: &'a str,
    /// What was done wrong.
    pub note: &'a str,
    /// What kc prints, empty where it finds nothing.
    pub rendered: &'a str,
    pub failure: &'a str,
    /// The threads of the launch that shows it.
    pub launch: Option<String>,
    pub cuda: Option<&'a InCuda>,
}

/// A conversation: the language of its programs, and its turns, from the user's to the assistant's.
pub struct Talk {
    pub language: &'static str,
    pub turns: Vec<String>,
}

/// Words before a program that does not work.
const ASK: [&str; 5] = [
    "What is wrong here, and how is it mended?",
    "This does not work. Find the fault.",
    "Please fix this program.",
    "I cannot see the mistake in this program. Can you?",
    "kc does not take this program. What has to change?",
];

/// Words before a report on a first try.
const REPORT: [&str; 4] = ["kc says:", "I ran it with kc. It reports:", "That is not right yet:", "The checks fail:"];

/// Words before the cause.
const CAUSE: [&str; 4] = ["The cause: ", "The fault: ", "What is wrong: ", "Found it: "];

impl Told<'_> {
    /// The conversation of a row.
    pub fn talk(&self, random: &mut Random) -> Talk {
        let (cause, ask) = (*random.pick(&CAUSE), *random.pick(&ASK));
        let (report, tries) = (*random.pick(&REPORT), random.chance(50));
        // A program without a fault in Python has it in CUDA.
        let in_cuda = random.chance(50) || self.buggy == self.fixed;
        if let Some(InCuda { buggy, fixed, failure }) = self.cuda.filter(|_| in_cuda) {
            // The last words of the list are of Python's checks.
            let ask = if ask == ASK[4] { ASK[0] } else { ask };
            let shown = format!("{ask}\n\n{}\n\nOn the simulator{}: {failure}", block("cuda", buggy), self.threads());
            let answer = format!("{cause}{}.\n\n{}", self.note, block("cuda", fixed));
            return Talk { language: "cuda", turns: vec![shown, answer] };
        }
        let (buggy, said) = (block("python", self.buggy), self.report());
        let answer = format!("{cause}{}.\n\n{}", self.note, block("python", self.fixed));
        let turns = match tries {
            true => vec![self.task.to_string(), buggy, format!("{report}\n\n{said}"), answer],
            false => vec![format!("{ask}\n\n{buggy}\n\n{said}"), answer],
        };
        Talk { language: "python", turns }
    }

    fn threads(&self) -> String {
        self.launch.as_ref().map_or(String::new(), |launch| format!(", with `{}` on {launch} threads", self.kernel))
    }

    /// What kc prints, and what the launch shows.
    fn report(&self) -> String {
        let printed = self.rendered.trim_end();
        let run = self.launch.as_ref().map(|launch| format!("`{}` on {launch} threads: {}", self.kernel, self.failure));
        match (printed, run) {
            ("", run) => run.unwrap_or_else(|| self.failure.to_string()),
            (printed, None) => format!("```text\n{printed}\n```"),
            // It is said once.
            (printed, Some(_))
                if printed.contains(self.failure.split_once(": ").map_or(self.failure, |(_, rest)| rest)) =>
            {
                let threads = self.launch.as_deref().unwrap_or_default();
                format!("```text\n{printed}\n```\n\nThat is `{}` on {threads} threads.", self.kernel)
            }
            (printed, Some(run)) => format!("```text\n{printed}\n```\n\n{run}"),
        }
    }
}

fn block(language: &str, text: &str) -> String {
    format!("```{language}\n{}\n```", text.trim_end())
}
