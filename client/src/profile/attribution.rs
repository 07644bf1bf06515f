//! Whose a profile's values are: by function, line, crate, layer or type.

use std::{
    cmp::Reverse,
    collections::{HashMap, HashSet},
};

use super::{
    Frame, Layers, Profile, SampleType,
    names::{folded_name, full_name},
    origin::{Origin, origin},
    paths::readable_path,
    sites::asks,
    types::allocated,
};

/// What a row stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// A function, its instances with other type parameters together or, `split`, apart.
    Function {
        /// Whether instances are apart.
        split: bool,
    },
    /// A source line.
    Line {
        /// Whether instances of its function are apart.
        split: bool,
    },
    /// A crate, or a Go package.
    Crate,
    /// A layer. A sample is the innermost frame's that is in another layer than std, which works for whoever calls it.
    Layer,
    /// What was allocated, `<unknown>` where the stack doesn't tell.
    Type {
        /// Whether types with other parameters are apart.
        split: bool,
    },
}

/// What is of no known type.
pub const UNKNOWN_TYPE: &str = "<unknown>";

/// Values of one or two sample types, in the order of [`Attribution::types`]; the second is 0 where there is one only.
pub type Amounts = [i128; 2];

/// A profile's values, attributed. Sums don't overflow: 2⁶³ values of 63 bits fit.
#[derive(Debug, Clone, PartialEq)]
pub struct Attribution {
    /// What a row stands for.
    pub by: By,
    /// What is counted: the type asked for, and the objects of bytes or the bytes of objects.
    pub types: Vec<SampleType>,
    /// The largest of the first type first, whatever the sign. Their flat values add up to [`Self::total`].
    pub rows: Vec<Row>,
    /// All samples.
    pub total: Amounts,
    /// Whether memory is charged to the code that asked for it, and not to the allocator.
    pub is_memory: bool,
}

/// What a function, line, crate, layer or type has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The function, the crate, the layer or the type.
    pub name: String,
    /// `file:line`, of a line that is known.
    pub place: Option<String>,
    /// Whether it stands for several instances of a generic function.
    pub is_folded: bool,
    /// What it did itself.
    pub flat: Amounts,
    /// What it and everything that it called did, once for each sample.
    pub cum: Amounts,
    /// The crates whose flat values are in a layer, largest first. Empty but for layers.
    pub crates: Vec<String>,
}

impl Row {
    /// The same row of a table of other values.
    pub(super) fn without_values(self) -> Self {
        Self { flat: Amounts::default(), cum: Amounts::default(), ..self }
    }
}

/// Attributes each sample of a profile once: to the innermost frame or, of memory, to the innermost that isn't the allocator, a
/// collection, boxing or spawning, as [`super::sites`] does. `type_index` is from [`Profile::type_index`].
pub fn attribute(profile: &Profile, type_index: usize, by: By, layers: &Layers) -> Attribution {
    let types = with_partner(profile, type_index);
    let is_memory = is_memory(&profile.types()[type_index].kind);
    let mut table = Table { by, layers, rows: Vec::new(), known: HashMap::new(), by_name: HashMap::new() };
    let mut total = Amounts::default();
    let mut seen = HashSet::new();
    for (frames, values) in profile.samples() {
        let mut amounts = Amounts::default();
        types.iter().zip(&mut amounts).for_each(|(at, amount)| *amount = values[*at].into());
        add(&mut total, amounts);
        if let By::Type { split } = by {
            table.charge_type(allocated(frames.clone(), split), amounts);
            continue;
        }
        seen.clear();
        for frame in frames.clone() {
            let row = table.row_of(frame);
            if seen.insert(row) {
                add(&mut table.rows[row].row.cum, amounts);
            }
        }
        let asks = |frame: &Frame<'_>| !is_memory || asks(frame);
        let own = match by {
            By::Layer => frames.clone().filter(asks).find(|frame| !table.is_std(*frame)),
            _ => frames.clone().find(asks).or_else(|| frames.clone().next()),
        };
        table.charge(own, amounts);
    }
    let types = types.into_iter().map(|at| profile.types()[at].clone()).collect();
    Attribution { by, types, rows: table.into_rows(), total, is_memory }
}

fn is_memory(kind: &str) -> bool {
    ["alloc", "inuse", "requested"].iter().any(|start| kind.starts_with(start))
}

/// The type, and for bytes the objects they are, for objects their bytes.
fn with_partner(profile: &Profile, type_index: usize) -> Vec<usize> {
    let partner = match &*profile.types()[type_index].kind {
        "alloc_space" | "requested_space" => "alloc_objects",
        "alloc_objects" => "alloc_space",
        "inuse_space" => "inuse_objects",
        "inuse_objects" => "inuse_space",
        _ => return vec![type_index],
    };
    profile.type_index(Some(partner)).map_or(vec![type_index], |at| vec![type_index, at])
}

fn add(sum: &mut Amounts, amounts: Amounts) {
    sum.iter_mut().zip(amounts).for_each(|(sum, amount)| *sum += amount);
}

/// What there is to know of a frame.
struct Known {
    row: usize,
    origin: Origin,
}

struct Table<'a> {
    by: By,
    layers: &'a Layers,
    rows: Vec<Growing>,
    known: HashMap<Frame<'a>, Known>,
    by_name: HashMap<(String, Option<String>), usize>,
}

/// A row while it is added to.
struct Growing {
    row: Row,
    /// A name with type parameters; another one makes the row a folded one.
    instance: Option<String>,
    crates: HashMap<String, i128>,
}

impl<'a> Table<'a> {
    fn known(&mut self, frame: Frame<'a>) -> &Known {
        if !self.known.contains_key(&frame) {
            let origin = origin(&frame);
            let row = self.named(self.name(&frame, &origin));
            self.note_instance(row, &frame);
            self.known.insert(frame, Known { row, origin });
        }
        &self.known[&frame]
    }

    fn row_of(&mut self, frame: Frame<'a>) -> usize {
        self.known(frame).row
    }

    fn is_std(&mut self, frame: Frame<'a>) -> bool {
        let layers = self.layers;
        layers.is_std(&self.known(frame).origin)
    }

    fn charge(&mut self, own: Option<Frame<'a>>, amounts: Amounts) {
        let row = match (own, self.by) {
            (Some(frame), By::Layer) => {
                let Known { row, origin } = self.known(frame);
                let (row, package) = (*row, origin.package.clone());
                *self.rows[row].crates.entry(package).or_default() += amounts[0];
                row
            }
            (Some(frame), _) => self.row_of(frame),
            (None, By::Layer) => self.named((Layers::last_resort().to_owned(), None)),
            (None, _) => self.named(("<no stack>".to_owned(), None)),
        };
        add(&mut self.rows[row].row.flat, amounts);
    }

    fn charge_type(&mut self, name: Option<String>, amounts: Amounts) {
        let row = self.named((name.unwrap_or_else(|| UNKNOWN_TYPE.to_owned()), None));
        add(&mut self.rows[row].row.flat, amounts);
        add(&mut self.rows[row].row.cum, amounts);
    }

    fn name(&self, frame: &Frame<'_>, origin: &Origin) -> (String, Option<String>) {
        let function = |split| if split { full_name(frame) } else { folded_name(frame) };
        match self.by {
            By::Function { split } => (function(split), None),
            By::Line { split } => {
                let line = frame.line.map(|line| format!(":{line}")).unwrap_or_default();
                (function(split), frame.file.map(|file| readable_path(file).to_owned() + &line))
            }
            By::Crate => (origin.package.clone(), None),
            By::Layer => (self.layers.of(origin).to_owned(), None),
            By::Type { .. } => (UNKNOWN_TYPE.to_owned(), None),
        }
    }

    fn named(&mut self, (name, place): (String, Option<String>)) -> usize {
        *self.by_name.entry((name, place)).or_insert_with_key(|(name, place)| {
            let (name, place, zero) = (name.clone(), place.clone(), Amounts::default());
            let row = Row { name, place, is_folded: false, flat: zero, cum: zero, crates: Vec::new() };
            self.rows.push(Growing { row, instance: None, crates: HashMap::new() });
            self.rows.len() - 1
        })
    }

    fn note_instance(&mut self, row: usize, frame: &Frame<'_>) {
        let (By::Function { split: false } | By::Line { split: false }) = self.by else { return };
        let full = full_name(frame);
        // `f::<u8>`, `Vec<u8>::push`, `F[go.shape.int]`; a `<T as Trait>` at the start alone is none.
        if !full.contains("[go.shape.") && full.rfind('<').is_none_or(|at| at == 0) {
            return;
        }
        let Growing { row, instance, .. } = &mut self.rows[row];
        row.is_folded |= instance.as_ref().is_some_and(|known| *known != full);
        instance.get_or_insert(full);
    }

    fn into_rows(self) -> Vec<Row> {
        let mut rows: Vec<Row> = self.rows.into_iter().map(Growing::into_row).collect();
        rows.retain(|row| row.flat != Amounts::default() || row.cum != Amounts::default());
        let size = |amounts: Amounts| Reverse(amounts.map(i128::abs));
        rows.sort_by(|a, b| {
            let key = |row: &Row| (size(row.flat), size(row.cum));
            key(a).cmp(&key(b)).then_with(|| (&a.name, &a.place).cmp(&(&b.name, &b.place)))
        });
        if self.by == By::Layer {
            rows.retain(|row| row.flat != Amounts::default());
            rows.sort_by_key(|row| self.layers.place(&row.name));
        }
        rows
    }
}

impl Growing {
    fn into_row(self) -> Row {
        let mut crates: Vec<(String, i128)> = self.crates.into_iter().filter(|(_, amount)| *amount != 0).collect();
        crates.sort_by(|a, b| (Reverse(a.1.abs()), &a.0).cmp(&(Reverse(b.1.abs()), &b.0)));
        Row { crates: crates.into_iter().map(|(name, _)| name).collect(), ..self.row }
    }
}
