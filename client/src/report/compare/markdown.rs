//! A comparison for pull requests.

use super::{cells, footnotes, heading, lonely, name, names, notes};
use crate::{
    compare::{Comparison, Pair, Verdict},
    report::markdown::{escape, note, row},
};

/// A table for each pair, verdicts that matter in bold.
pub fn comparison_markdown(comparison: &Comparison<'_>) -> String {
    let confidence = format!("at {}%", (1.0 - comparison.alpha) * 100.0);
    let mut text: String = comparison.pairs.iter().map(|each| pair(each, &confidence) + "\n").collect();
    for line in lonely(comparison).iter().chain(&footnotes(comparison)) {
        text += &format!("- {}\n", note(line));
    }
    text
}

fn pair(pair: &Pair<'_>, confidence: &str) -> String {
    let [a, b] = names(pair).map(|name| escape(&name));
    let mut text = format!("### {}\n\n", escape(&heading(pair)));
    text += &row(["", &a, "±", &b, "±", "change", confidence, "p", "verdict"].map(str::to_owned));
    text += &row(["---", "---:", "---:", "---:", "---:", "---:", "---:", "---:", "---"].map(str::to_owned));
    for judgement in &pair.judgements {
        let word = judgement.verdict.words();
        let word = match judgement.verdict {
            Verdict::Better | Verdict::Worse => format!("**{word}**"),
            Verdict::WithinNoise | Verdict::CannotJudge => word.to_owned(),
        };
        text += &row([name(judgement).to_owned()].into_iter().chain(cells(judgement)).chain([word]));
    }
    let notes: String = notes(pair).iter().map(|note| format!("- ⚠ {}\n", escape(note))).collect();
    if notes.is_empty() { text } else { text + "\n" + &notes }
}
