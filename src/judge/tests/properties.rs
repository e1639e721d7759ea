//! What holds for any list: equals bring nothing, and no difference is left unclaimed.

use proptest::prelude::*;

use super::*;
use crate::model::json::Members;
use crate::model::pointer::Pointer;

fn leaf() -> impl Strategy<Value = Json> {
    prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        (-3_i64..3).prop_map(Json::from),
        "[a-c \u{200B}.]{0,6}".prop_map(Json::from),
    ]
}

fn value() -> impl Strategy<Value = Json> {
    leaf().prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Json::Array),
            prop::collection::btree_map(keyword(), inner, 0..4).prop_map(Json::Object),
        ]
    })
}

/// Member names that rules know, and one that none knows.
fn keyword() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "title",
        "description",
        "inputSchema",
        "outputSchema",
        "annotations",
        "icons",
        "execution",
        "_meta",
        "readOnlyHint",
        "destructiveHint",
        "type",
        "properties",
        "required",
        "x-mcp-header",
        "mimeType",
        "arguments",
        "taskSupport",
        "odd",
    ])
    .prop_map(str::to_owned)
}

fn item(key: &'static str) -> impl Strategy<Value = Json> {
    ("[a-d]{1,2}", prop::collection::btree_map(keyword(), value(), 0..5)).prop_map(move |(name, mut members)| {
        members.insert(key.to_owned(), Json::from(name));
        Json::Object(members)
    })
}

fn facet_list(facet: Facet) -> impl Strategy<Value = Snapshot> {
    let shape = facet.list().unwrap();
    (prop::collection::vec(item(shape.key), 0..6), prop::option::of(value())).prop_map(move |(items, odd)| {
        let mut page = Members::from([(shape.array.to_owned(), Json::Array(items))]);
        page.extend(odd.map(|odd| ("odd".to_owned(), odd)));
        document::read(Json::Object(page).canonical().as_bytes()).unwrap()
    })
}

fn any_facet() -> impl Strategy<Value = (Snapshot, Snapshot)> {
    prop::sample::select(vec![Facet::McpTools, Facet::McpPrompts, Facet::McpResources, Facet::McpResourceTemplates])
        .prop_flat_map(|facet| (facet_list(facet), facet_list(facet)))
}

/// Differences that mean nothing by themselves: sets and defaults, which the rules compare by meaning.
fn means_nothing(path: &Pointer, old: Option<&Json>, new: Option<&Json>) -> bool {
    let empty = |value: Option<&Json>| {
        value.is_none_or(|value| {
            let no_arguments = value.member("items").and_then(Json::as_object).is_some_and(|items| items.is_empty());
            let no_members = value.as_object().is_some_and(|all| all.is_empty());
            no_arguments || no_members || *value == Json::Bool(false)
        })
    };
    let is_set = path.tokens().any(|token| matches!(token, "type" | "required" | "enum" | "order"));
    is_set || (empty(old) && empty(new))
}

proptest! {
    #[test]
    fn equal_snapshots_bring_nothing((snapshot, _) in any_facet()) {
        prop_assert_eq!(said(&judged(&snapshot, &snapshot)), Vec::<String>::new());
    }

    #[test]
    fn every_difference_is_claimed_and_no_path_twice((old, new) in any_facet()) {
        let judgment = judged(&old, &new);
        let views = |snapshot: &Snapshot| match snapshot.facets.values().next().unwrap() {
            FacetState::Seen(seen) => seen.views[0].clone(),
            other @ (FacetState::Absent { .. } | FacetState::Unseen { .. }) => panic!("{other:?}"),
        };
        let (old, new) = (views(&old), views(&new));
        let (leaves, count) = diff::leaves(Some(&old), Some(&new), usize::MAX);
        prop_assert_eq!(leaves.len(), count);
        for leaf in leaves {
            let (before, after) = (old.pointer(&leaf), new.pointer(&leaf));
            let claimed = judgment.drifts.iter().flat_map(|drift| &drift.claims).any(|claim| {
                claim.path.contains(&leaf) || leaf.contains(&claim.path)
            });
            prop_assert!(claimed || means_nothing(&leaf, before, after), "{} unclaimed: {:?}", leaf, said(&judgment));
        }
        let mut paths: Vec<_> = judgment.drifts.iter().map(|drift| &drift.path).collect();
        paths.sort();
        let nested = paths.windows(2).find(|pair| pair[0].contains(pair[1]));
        prop_assert!(nested.is_none(), "{:?} lies within another", nested);
    }

    #[test]
    fn units_hold_every_drift_once((old, new) in any_facet()) {
        let judgment = judged(&old, &new);
        let units = units(&judgment);
        let members: usize = units.iter().map(|unit| unit.members.len()).sum();
        prop_assert_eq!(members, judgment.drifts.len());
        let numbers: Vec<u32> = units.iter().map(|unit| unit.n).collect();
        prop_assert_eq!(numbers, (1..=u32::try_from(units.len()).unwrap()).collect::<Vec<_>>());
        let foldings: Vec<Folding<'_>> =
            judgment.drifts.iter().rev().map(|drift| Folding { drift, mark: UnitMark::Pending }).collect();
        prop_assert_eq!(fold(&foldings, &units), units);
    }
}
