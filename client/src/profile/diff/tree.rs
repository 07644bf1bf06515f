//! The stacks of both sides in one tree.

use std::{collections::BTreeMap, rc::Rc};

use super::Both;

/// A tree of calls. A node stands after the one that calls it.
#[derive(Debug, Clone)]
pub(super) struct Tree {
    nodes: Vec<Node>,
}

/// A function in its place in a stack.
#[derive(Debug, Clone, Default)]
pub(super) struct Node {
    /// Empty for the root.
    pub(super) name: Rc<str>,
    /// Calls between it and the root.
    pub(super) depth: usize,
    parent: usize,
    /// Without what it calls.
    pub(super) own: Both,
    /// With what it calls.
    pub(super) whole: Both,
    /// By name, so that the order is that of no file.
    callees: BTreeMap<Rc<str>, usize>,
}

const ROOT: usize = 0;

impl Default for Tree {
    fn default() -> Self {
        Self { nodes: vec![Node::default()] }
    }
}

impl Tree {
    /// Adds a value to the end of a stack.
    pub(super) fn add(&mut self, stack: &[Rc<str>], value: Both) {
        let mut at = ROOT;
        for name in stack {
            at = match self.nodes[at].callees.get(name) {
                Some(callee) => *callee,
                None => self.grow(at, name),
            };
        }
        self.nodes[at].own += value;
    }

    fn grow(&mut self, parent: usize, name: &Rc<str>) -> usize {
        let at = self.nodes.len();
        let depth = self.nodes[parent].depth + 1;
        self.nodes.push(Node { name: name.clone(), depth, parent, ..Node::default() });
        self.nodes[parent].callees.insert(name.clone(), at);
        at
    }

    pub(super) fn has_negative(&self) -> bool {
        self.nodes.iter().any(|node| node.own.a < 0.0 || node.own.b < 0.0)
    }

    pub(super) fn divide(&mut self, side: usize, divisor: f64) {
        self.nodes.iter_mut().for_each(|node| node.own.divide(side, divisor));
    }

    /// Gives every node what it and all below it are together.
    pub(super) fn sum_up(&mut self) {
        self.nodes.iter_mut().for_each(|node| node.whole = node.own);
        for at in (ROOT + 1..self.nodes.len()).rev() {
            let (parent, whole) = (self.nodes[at].parent, self.nodes[at].whole);
            self.nodes[parent].whole += whole;
        }
    }

    pub(super) fn total(&self) -> Both {
        self.nodes[ROOT].whole
    }

    /// All nodes, each before what it calls, callees by name.
    pub(super) fn walk(&self) -> impl Iterator<Item = &Node> {
        let mut waiting = vec![ROOT];
        std::iter::from_fn(move || {
            let node = &self.nodes[waiting.pop()?];
            waiting.extend(node.callees.values().rev());
            Some(node)
        })
    }
}
