//! How many calls took long, at a rate: by service time, and by response time, which a stall doesn't hide from.

use super::{
    Style, name,
    table::{finish, plain_table},
};
use crate::{
    measure::result::{Over, RunResult},
    profile::three_digits,
    units::thousands,
};

/// A line for each view of each result at a rate. Empty when there is none.
pub fn slow(results: &[RunResult], style: Style) -> String {
    let mut table = plain_table();
    table.set_header(["", "rate", "of", "> 1 ms", "> 10 ms", "> 100 ms", "> 1 s", "by"]);
    let mut any = false;
    for result in results {
        let (Some(response), Some(rate)) = (&result.slow_calls.response, result.load.qps) else { continue };
        any = true;
        let of = [name(result), three_digits(rate) + "/s", thousands(result.success_requests)];
        table.add_row(row(of, response, "response time"));
        table.add_row(row([const { String::new() }; 3], &result.slow_calls.service, "service time"));
    }
    if any { format!("{}\n{}", style.bold("Slow calls"), finish(table, 8, 1)) } else { String::new() }
}

fn row(of: [String; 3], over: &Over, view: &str) -> Vec<String> {
    let counts = [over.over_1ms, over.over_10ms, over.over_100ms, over.over_1s].map(thousands);
    of.into_iter().chain(counts).chain([view.to_owned()]).collect()
}
