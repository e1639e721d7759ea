//! `auth`: what we present to a target.

use super::super::reader::{Fields, Reader};
use super::super::tree::Node;
use super::{Element, Shape, secret};
use crate::model::inventory::Auth;

pub(in crate::config) const KEYS: &[Element] = &[Element::new("bearer", Shape::Secret, "a reference to the token")
    .required()
    .also_called(&["token", "bearer_token", "api_key"])];

pub(in crate::config) fn decode(reader: &mut Reader<'_>, node: &Node) -> Option<Auth> {
    let fields = Fields::of(reader, node, "`auth`", KEYS);
    fields.read(reader, "bearer", secret::decode).map(Auth::Bearer)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{refused, taken};
    use super::*;
    use crate::model::secret::SecretRef;

    #[test]
    fn a_bearer_token_is_a_reference_that_need_not_resolve() {
        assert_eq!(taken("{ bearer: { env: ABSENT } }", decode), Auth::Bearer(SecretRef::Env("ABSENT".into())));
    }

    #[test]
    fn another_way_to_authenticate_is_an_unknown_key() {
        assert_eq!(
            refused("{ token: { env: X } }", decode),
            [
                "`auth` has no `bearer`; add `bearer`: a reference to the token",
                "unknown key `token` in `auth`; it is called `bearer`",
            ]
        );
    }
}
