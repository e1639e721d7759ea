//! `egress`: special ranges that are opened, of the daemon and of a target.

use std::net::IpAddr;

use ipnet::IpNet;

use super::super::error::ConfigError;
use super::super::reader::{Fields, Reader};
use super::super::tree::Node;
use super::{Element, Form, Shape};

const NETWORK: Shape = Shape::Text(Form::Network);

pub(in crate::config) const KEYS: &[Element] =
    &[Element::new("allow", Shape::List(&NETWORK), "networks, as `10.1.0.0/16`").required()];

pub(in crate::config) fn decode(reader: &mut Reader<'_>, node: &Node) -> Option<Vec<IpNet>> {
    let fields = Fields::of(reader, node, "`egress`", KEYS);
    fields.read(reader, "allow", |reader, list| Some(reader.items(list, &NETWORK, "a network of `allow`", network)))
}

fn network(reader: &mut Reader<'_>, node: &Node) -> Option<IpNet> {
    let text = reader.text(node);
    let (why, remedy) = match text.parse::<IpNet>() {
        Ok(network) if network == network.trunc() => return Some(network),
        Ok(network) => ("its address is not the network's own", format!("did you mean `{}`?", network.trunc())),
        Err(_) => match text.parse::<IpAddr>() {
            Ok(address) => ("it has no prefix length", format!("did you mean `{}`?", IpNet::from(address))),
            Err(_) => ("it is no CIDR", "write it as `10.1.0.0/16` or `fd00::/8`".to_owned()),
        },
    };
    reader.mistake(node.span, ConfigError::Malformed { what: "network", why: why.to_owned(), remedy });
    None
}

#[cfg(test)]
mod tests {
    use super::super::testing::{refused, taken};
    use super::*;

    #[test]
    fn networks_of_both_families_are_taken() {
        let networks = taken("{ allow: [ 10.1.0.0/16, \"fd00::/8\" ] }", decode);
        assert_eq!(networks.iter().map(ToString::to_string).collect::<Vec<_>>(), ["10.1.0.0/16", "fd00::/8"]);
        assert_eq!(taken("{ allow: [] }", decode), []);
    }

    #[test]
    fn what_is_no_network_is_corrected() {
        assert_eq!(
            refused("{ allow: [ 10.1.2.3/16, 10.1.2.3, \"::1\", 10.1/16, internal, [] ] }", decode),
            [
                "this is no network: its address is not the network's own; did you mean `10.1.0.0/16`?",
                "this is no network: it has no prefix length; did you mean `10.1.2.3/32`?",
                "this is no network: it has no prefix length; did you mean `::1/128`?",
                "this is no network: it is no CIDR; write it as `10.1.0.0/16` or `fd00::/8`",
                "this is no network: it is no CIDR; write it as `10.1.0.0/16` or `fd00::/8`",
                "a network of `allow` has to be a network, this is a list",
            ]
        );
        assert_eq!(refused("{}", decode), ["`egress` has no `allow`; add `allow`: networks, as `10.1.0.0/16`"]);
    }
}
