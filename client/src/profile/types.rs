//! What was allocated, as far as a stack tells.

use super::{
    Frame,
    names::{closing, full_name, simplify, split_at_depth_0},
    origin::PRIMITIVES,
    sites::asks,
};

/// The standard library's containers, and what stands before and after their first type parameter in what they allocate.
const CONTAINERS: [(&str, [&str; 2]); 6] = [
    ("alloc::raw_vec::RawVec<", ["[", "]"]),
    ("alloc::vec::Vec<", ["[", "]"]),
    ("alloc::boxed::Box<", ["", ""]),
    ("alloc::sync::Arc<", ["Arc<", ">"]),
    ("alloc::rc::Rc<", ["Rc<", ">"]),
    ("hashbrown::raw::RawTable<", ["RawTable<", ">"]),
];

/// The type that a stack allocates: that of the innermost container, as long as no code has been met that asks for memory
/// itself. `None` when no frame tells; symbols of Rust's legacy kind have `Box<T>::new` whatever `T` is.
pub(super) fn allocated<'a>(frames: impl Iterator<Item = Frame<'a>>, split: bool) -> Option<String> {
    frames.take_while(|frame| !asks(frame)).find_map(|frame| of_container(&full_name(&frame), split))
}

/// The type in the name of a container's function: `[h2::Frame]` of `<alloc::vec::Vec<h2::Frame<B>>>::reserve`.
fn of_container(name: &str, split: bool) -> Option<String> {
    let target = name.trim_start_matches('<');
    let (start, [before, after]) = CONTAINERS.into_iter().find(|(start, _)| target.starts_with(start))?;
    let arguments = &target[start.len() - 1..];
    let end = closing(arguments)?;
    // A boxed closure that is called allocates nothing for itself.
    if arguments[end..].starts_with("> as core::ops::function::") {
        return None;
    }
    let arguments = &arguments[1..end];
    let first = split_at_depth_0(arguments, ",").map_or(arguments, |(first, _)| first);
    // `<I as Iterator>::Item` is a parameter too.
    let folded = simplify(first).filter(|folded| is_concrete(folded) && !first.starts_with('<'))?;
    let item = if split { first } else { &folded };
    Some(format!("{before}{item}{after}"))
}

/// Whether a type is one, and not a parameter: those have neither a path nor a primitive's name.
fn is_concrete(folded: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    folded.split(|c| !is_word(c)).filter(|word| word.starts_with(|c: char| c.is_ascii_alphabetic())).all(|word| {
        word.contains("::") || PRIMITIVES.contains(&word) || ["dyn", "mut", "const", "fn", "closure"].contains(&word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_names_what_it_holds() {
        for (name, folded, split) in [
            ("<alloc::vec::Vec<a::Foo<u8>>>::with_capacity", "[a::Foo]", "[a::Foo<u8>]"),
            ("<alloc::raw_vec::RawVec<u8>>::grow_one", "[u8]", "[u8]"),
            ("<alloc::boxed::Box<str> as core::convert::From<&str>>::from", "str", "str"),
            ("<alloc::boxed::Box<[u8; 4]>>::new", "[u8; 4]", "[u8; 4]"),
            ("<alloc::sync::Arc<a::Foo<i8>>>::new", "Arc<a::Foo>", "Arc<a::Foo<i8>>"),
            (
                "<hashbrown::raw::RawTable<(u32, a::Foo<u64>)>>::reserve_rehash::<a::f::{closure#0}>",
                "RawTable<(u32, a::Foo)>",
                "RawTable<(u32, a::Foo<u64>)>",
            ),
            ("alloc::boxed::Box<dyn a::Service<B>>::new", "dyn a::Service", "dyn a::Service<B>"),
        ] {
            assert_eq!(of_container(name, false).as_deref(), Some(folded), "{name}");
            assert_eq!(of_container(name, true).as_deref(), Some(split), "{name}");
        }
    }

    #[test]
    fn a_parameter_is_no_type() {
        for name in [
            "alloc::boxed::Box<T>::new",
            "alloc::vec::Vec<T,A>::with_capacity_in",
            "<alloc::vec::Vec<<I as core::iter::Iterator>::Item> as core::iter::FromIterator>::from_iter",
            "<alloc::boxed::Box<dyn core::ops::function::FnOnce<()>> as core::ops::function::FnOnce<()>>::call_once",
            "alloc::raw_vec::RawVecInner<A>::try_allocate_in",
            "alloc::raw_vec::RawVec<broken",
        ] {
            assert_eq!(of_container(name, false), None, "{name}");
        }
    }
}
