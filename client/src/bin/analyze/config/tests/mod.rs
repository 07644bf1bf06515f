//! Whole files: good ones, bad ones, and any text.

mod any_text;
mod bad_files;
mod good_files;

use super::{Config, Invalid};

fn read(text: &str) -> Result<Config, Invalid> {
    Config::read("config.yaml", text.as_bytes(), None)
}
