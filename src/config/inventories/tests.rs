use std::fs;
use std::path::Path;

use super::super::{Config, LastFile, Mistakes, load_at_start, load_with};
use super::*;
use crate::secret::Environment;

const RULES: [&str; 1] = ["tool.removed"];

/// A directory with a `driftd.yaml`, a file of a person and one of a program, and what was good of them.
struct Home {
    directory: tempfile::TempDir,
    last_good: LastGood,
}

const MAIN: &str = "inventory: [ own.yaml, { path: gen.yaml, trust: listed, may_remove: 20% } ]\n\
                    profiles: { internal: { hosts: [ \"*.mcp.example.com\" ], auth: { bearer: { env: TOKEN } } } }\n";

const OWN: &str = "targets: [ { id: ours, kind: mcp, url: \"https://ours.example/mcp\" } ]\n";

fn targets(ids: &[&str]) -> String {
    let one = |id: &&str| format!("- {{ id: {id}, kind: mcp, url: \"https://{id}.mcp.example.com/mcp\" }}\n");
    if ids.is_empty() {
        "targets: []\n".to_owned()
    } else {
        format!("targets:\n{}", ids.iter().map(one).collect::<String>())
    }
}

impl Home {
    fn new(main: &str, files: &[(&str, &str)]) -> Self {
        let home = Self { directory: tempfile::tempdir().unwrap(), last_good: LastGood::default() };
        home.write("driftd.yaml", main);
        for (name, text) in files {
            home.write(name, text);
        }
        home
    }

    /// One whose files are good and in force.
    fn in_force(main: &str, files: &[(&str, &str)]) -> Self {
        let mut home = Self::new(main, files);
        let config = home.reload().unwrap();
        assert_eq!(config.held, []);
        home.keep(&config);
        home
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), text).unwrap();
    }

    fn remove(&self, name: &str) {
        fs::remove_file(self.path(name)).unwrap();
    }

    fn keep(&mut self, config: &Config) {
        self.last_good = LastGood::of(&config.parts);
    }

    fn environment(&self) -> Environment {
        Environment::from_map([("TOKEN", "hunter2-token"), ("ONCALL_TOKEN", "hunter2-oncall")])
    }

    fn reload(&self) -> Result<Config, Mistakes> {
        load_with(&self.path("driftd.yaml"), &self.environment(), &self.last_good, &RULES)
    }

    fn start(&self) -> Result<Config, Mistakes> {
        load_at_start(&self.path("driftd.yaml"), &self.environment(), &self.last_good, &RULES)
    }

    fn release(&mut self, name: &str) {
        let key = self.path(name);
        self.last_good.released.insert(key);
    }

    /// Texts with the directory taken out.
    fn told(&self, held: &Held) -> String {
        let directory = format!("{}/", self.directory.path().display());
        format!("{}: {}\n\n{}", held.path.display(), held.reason, held.mistakes.join("\n\n")).replace(&directory, "")
    }
}

fn ids(config: &Config) -> Vec<&str> {
    config.targets.iter().map(|target| target.id.as_str()).collect()
}

fn reasons(config: &Config) -> Vec<HeldReason> {
    config.held.iter().map(|held| held.reason).collect()
}

#[test]
fn a_generated_file_that_goes_wrong_is_held_at_its_last_good_version() {
    let configs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/configs");
    let last_good = fs::read_to_string(configs.join("parts/last-good.yml")).unwrap();
    let home = Home::in_force(MAIN, &[("own.yaml", OWN), ("gen.yaml", &last_good)]);
    let mut files: Vec<PathBuf> = fs::read_dir(&configs).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.file_name().unwrap().to_str().unwrap().starts_with("held-"));
    files.sort();
    assert!(files.len() >= 11, "{}", files.len());
    for file in files {
        let name = file.file_stem().unwrap().to_str().unwrap();
        home.write("gen.yaml", &fs::read_to_string(&file).unwrap());
        for (moment, config) in [("reload", home.reload()), ("start", home.start())] {
            let config = config.unwrap_or_else(|mistakes| panic!("{name} at a {moment}:\n{mistakes}"));
            assert_eq!(ids(&config), ["ours", "one", "two", "three", "four", "five"], "{name} at a {moment}");
            assert_eq!(config.parts[1].text, last_good, "{name}");
            let [held] = config.held.as_slice() else { panic!("{name}: {:?}", config.held) };
            let told = home.told(held);
            assert!(held.has_last_good && !told.contains("hunter2"), "{told}");
            insta::assert_snapshot!(name, told);
        }
    }
}

#[test]
fn a_listed_file_that_was_never_good_contributes_nothing_and_holds_up_nobody() {
    let home = Home::new(
        "inventory: [ own.yaml, { path: \"d/*.yaml\", trust: listed } ]\n",
        &[("own.yaml", OWN), ("d/a.yaml", "targets: {}"), ("d/b.yaml", &targets(&["b"]))],
    );
    for config in [home.reload().unwrap(), home.start().unwrap()] {
        assert_eq!(ids(&config), ["ours", "b"]);
        assert_eq!(reasons(&config), [HeldReason::Invalid]);
        assert!(!config.held[0].has_last_good);
        assert_eq!(config.parts.len(), 2);
    }
}

#[test]
fn a_listed_file_removes_what_it_may_and_no_more() {
    let ten: Vec<String> = (0..10).map(|n| format!("t{n}")).collect();
    let ten: Vec<&str> = ten.iter().map(String::as_str).collect();
    let mut home = Home::in_force(MAIN, &[("own.yaml", OWN), ("gen.yaml", &targets(&ten))]);
    home.write("gen.yaml", &targets(&ten[2..]));
    let config = home.reload().unwrap();
    assert_eq!((reasons(&config), config.targets.len()), (vec![], 9));
    home.keep(&config);
    home.write("gen.yaml", &targets(&ten[4..]));
    let config = home.reload().unwrap();
    assert_eq!((reasons(&config), config.targets.len()), (vec![HeldReason::RemovesTooMany], 9));
    // What is held stays what the next version is compared with.
    home.keep(&config);
    assert_eq!(reasons(&home.reload().unwrap()), [HeldReason::RemovesTooMany]);
    home.release("gen.yaml");
    let config = home.reload().unwrap();
    assert_eq!((reasons(&config), config.targets.len()), (vec![], 7));
    home.keep(&config);
    assert!(home.last_good.released.is_empty());
}

#[test]
fn an_empty_list_is_taken_when_the_file_was_let_go_and_nothing_at_all_never() {
    let mut home = Home::in_force(MAIN, &[("own.yaml", OWN), ("gen.yaml", &targets(&["a"]))]);
    home.release("gen.yaml");
    home.write("gen.yaml", "");
    assert_eq!(reasons(&home.reload().unwrap()), [HeldReason::Empty]);
    home.write("gen.yaml", "targets: []");
    let config = home.reload().unwrap();
    assert_eq!((ids(&config), reasons(&config)), (vec!["ours"], vec![]));
}

#[test]
fn a_file_of_a_pattern_that_is_gone_is_held_until_it_is_let_go() {
    let main = "inventory: [ { path: \"d/*.yaml\", trust: listed } ]\n";
    let mut home = Home::in_force(main, &[("d/a.yaml", &targets(&["a"])), ("d/b.yaml", &targets(&["b"]))]);
    home.remove("d/a.yaml");
    for config in [home.reload().unwrap(), home.start().unwrap()] {
        assert_eq!((ids(&config), reasons(&config)), (vec!["a", "b"], vec![HeldReason::Gone]));
    }
    fs::remove_file(home.path("d/b.yaml")).unwrap();
    fs::remove_dir(home.path("d")).unwrap();
    assert_eq!(reasons(&home.reload().unwrap()), [HeldReason::Gone, HeldReason::Gone]);
    home.release("d/a.yaml");
    let config = home.reload().unwrap();
    assert_eq!((ids(&config), config.parts.len()), (vec!["b"], 1));
}

#[test]
fn a_program_that_writes_files_without_end_is_read_up_to_a_limit() {
    let home = Home::new("inventory: [ { path: \"d/*.yaml\", trust: listed } ]\n", &[("d/0.yaml", &targets(&["a"]))]);
    for n in 1..=1_002 {
        fs::write(home.path(&format!("d/{n}.yaml")), "targets: []").unwrap();
    }
    let config = home.reload().unwrap();
    assert_eq!((ids(&config), config.parts.len()), (vec!["a"], 1_000));
    let warning = config.warnings[0].to_string();
    assert!(warning.contains("too many files are of this pattern, 3 of them are not read"), "{warning}");
}

#[test]
fn a_file_that_left_the_list_of_files_is_gone_without_ado() {
    let home = Home::in_force(MAIN, &[("own.yaml", OWN), ("gen.yaml", &targets(&["a"]))]);
    home.write("driftd.yaml", "inventory: [ own.yaml ]\n");
    let config = home.reload().unwrap();
    assert_eq!((ids(&config), config.held.len()), (vec!["ours"], 0));
}

#[test]
fn a_listed_file_that_cannot_be_read_is_held() {
    let home = Home::in_force(MAIN, &[("own.yaml", OWN), ("gen.yaml", &targets(&["a"]))]);
    home.remove("gen.yaml");
    assert_eq!(reasons(&home.reload().unwrap()), [HeldReason::Gone]);
    fs::create_dir(home.path("gen.yaml")).unwrap();
    assert_eq!(reasons(&home.reload().unwrap()), [HeldReason::Unreadable]);
    fs::remove_dir(home.path("gen.yaml")).unwrap();
    fs::write(home.path("gen.yaml"), b"targets: [ \xff ]").unwrap();
    let config = home.reload().unwrap();
    assert_eq!((ids(&config), reasons(&config)), (vec!["ours", "a"], vec![HeldReason::Unreadable]));
}

#[test]
fn an_id_that_a_person_takes_is_the_persons_also_when_the_file_is_held() {
    let mut home = Home::in_force(MAIN, &[("own.yaml", OWN), ("gen.yaml", &targets(&["a", "b"]))]);
    home.write("own.yaml", "targets: [ { id: b, kind: mcp, url: \"https://mine.example/\" } ]");
    let config = home.reload().unwrap();
    assert_eq!((ids(&config), reasons(&config)), (vec!["b", "a"], vec![HeldReason::Conflict]));
    assert_eq!(config.targets[0].endpoint.host(), "mine.example");
    // The id is the file's no more: it cannot claim it later.
    home.keep(&config);
    home.write("own.yaml", "targets: []");
    home.write("gen.yaml", "targets: [ { id: a, kind: mcp, url: \"https://evil.example/\", was: b } ]");
    let config = home.reload().unwrap();
    assert_eq!((ids(&config), &config.targets[0].was[..]), (vec!["a"], &[][..]));
    assert_eq!(config.warnings.len(), 1);
}

#[test]
fn of_two_listed_files_the_one_that_had_an_id_keeps_it() {
    let main = "inventory: [ { path: \"d/*.yaml\", trust: listed } ]\n";
    let mut home = Home::in_force(main, &[("d/a.yaml", &targets(&["a"])), ("d/b.yaml", &targets(&["b"]))]);
    home.write("d/a.yaml", &targets(&["a", "b"]));
    let config = home.reload().unwrap();
    assert_eq!((ids(&config), reasons(&config)), (vec!["a", "b"], vec![HeldReason::Conflict]));
    assert!(config.held[0].path.ends_with("d/a.yaml"));
    home.keep(&config);
    // It moves when the other file lets it go.
    home.write("d/b.yaml", &targets(&["c"]));
    home.release("d/b.yaml");
    let config = home.reload().unwrap();
    assert_eq!((ids(&config), reasons(&config)), (vec!["a", "b", "c"], vec![]));
}

#[test]
fn a_listed_file_carries_on_its_own_targets_alone() {
    let mut home = Home::in_force(MAIN, &[("own.yaml", OWN), ("gen.yaml", &targets(&["a", "b"]))]);
    let renamed = "targets:\n\
                   - { id: new, kind: mcp, url: \"https://a.mcp.example.com/mcp\", was: a }\n\
                   - { id: b, kind: mcp, url: \"https://b.mcp.example.com/mcp\", was: retired }\n";
    home.write("gen.yaml", renamed);
    let config = home.reload().unwrap();
    assert_eq!((ids(&config), reasons(&config)), (vec!["ours", "new", "b"], vec![]));
    assert_eq!(config.targets[1].was, ["a".parse().unwrap()]);
    assert_eq!(config.targets[2].was, []);
    insta::assert_snapshot!(
        config.warnings[0].to_string().replace(&format!("{}/", home.directory.path().display()), ""),
        @"gen.yaml: `b` does not carry on `retired`, which was no target of this file; it starts anew"
    );
    // The claim stands in the file for good.
    home.keep(&config);
    let config = home.reload().unwrap();
    assert_eq!(config.targets[1].was, ["a".parse().unwrap()]);
}

#[test]
fn the_lesser_trust_counts_for_a_file_that_two_entries_name() {
    let home = Home::new(
        "inventory: [ \"*.inv\", { path: gen.inv, trust: listed } ]\n",
        &[("gen.inv", "targets: [ { id: a, kind: mcp, url: \"https://a.example/\", paused: true } ]")],
    );
    assert_eq!(reasons(&home.reload().unwrap()), [HeldReason::Forbidden]);
}

#[test]
fn a_wrong_file_of_a_person_refuses_a_reload_and_not_a_start() {
    let home = Home::in_force(MAIN, &[("own.yaml", OWN), ("gen.yaml", &targets(&["a"]))]);
    for (wrong, reason) in [
        ("targets: [ { id: ours } ]", HeldReason::Invalid),
        ("", HeldReason::Empty),
        ("targets: [", HeldReason::Invalid),
        ("targets: [ { id: ours, kind: mcp, url: \"https://ours.example/\", profile: gone } ]", HeldReason::Invalid),
    ] {
        home.write("own.yaml", wrong);
        assert!(home.reload().is_err(), "{wrong}");
        let config = home.start().unwrap();
        assert_eq!((ids(&config), reasons(&config)), (vec!["ours", "a"], vec![reason]), "{wrong}");
        assert_eq!(config.parts[0].text, OWN);
    }
    home.remove("own.yaml");
    assert!(home.reload().unwrap_err().to_string().contains("driftd.yaml:1:14: the inventory cannot be read"));
    assert_eq!(reasons(&home.start().unwrap()), [HeldReason::Gone]);
}

#[test]
fn a_start_without_a_last_good_version_is_refused() {
    let home = Home::new(MAIN, &[("own.yaml", "targets: {}"), ("gen.yaml", &targets(&["a"]))]);
    assert!(home.start().is_err());
}

#[test]
fn a_wrong_main_file_is_refused_at_a_start_too_with_all_that_is_wrong_elsewhere() {
    let home = Home::in_force(MAIN, &[("own.yaml", OWN), ("gen.yaml", &targets(&["a"]))]);
    home.write("driftd.yaml", &format!("{MAIN}recievers: []\n"));
    home.write("gen.yaml", "targets: [ { id: a, command: [ sh ] } ]");
    for refused in [home.reload(), home.start()] {
        let message = refused.unwrap_err().to_string();
        for wanted in ["unknown key `recievers`", "a listed file may not give `command`"] {
            assert!(message.contains(wanted), "{wanted} is missing in:\n{message}");
        }
    }
}

#[test]
fn what_a_listed_file_needs_is_not_taken_from_under_it() {
    let own_profile = "targets: [ { id: a, kind: mcp, url: \"https://a.mcp.example.com/\", profile: internal } ]";
    let home = Home::in_force(MAIN, &[("own.yaml", OWN), ("gen.yaml", own_profile)]);
    home.write("driftd.yaml", "inventory: [ own.yaml, { path: gen.yaml, trust: listed } ]\n");
    let message = home.reload().unwrap_err().to_string();
    assert_eq!(message.matches("there is no profile `internal`").count(), 1, "{message}");
    // There is nothing to go on with at a start: the rest is watched.
    let config = home.start().unwrap();
    assert_eq!((ids(&config), reasons(&config)), (vec!["ours"], vec![HeldReason::Invalid]));
}

#[test]
fn every_reason_has_a_word_of_its_own() {
    let words: BTreeSet<&str> = HeldReason::ALL.iter().map(|reason| reason.as_str()).collect();
    assert_eq!(words.len(), HeldReason::ALL.len());
}

#[test]
fn a_last_good_version_is_what_was_in_use_of_each_file() {
    let home = Home::in_force(MAIN, &[("own.yaml", OWN), ("gen.yaml", &targets(&["a"]))]);
    let file = LastFile { text: OWN.to_owned(), ids: BTreeSet::from(["ours".parse().unwrap()]) };
    assert_eq!(home.last_good.files.get(&home.path("own.yaml")), Some(&file));
}
