//! The workspace: where it is, and which of its crates depend on which.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::step::cargo;

/// The root of the repository.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is a folder of the repository")
}

/// The path of a program that was built for release.
pub(crate) fn release_program(name: &str) -> Result<PathBuf> {
    Ok(target()?.join("release").join(format!("{name}{}", std::env::consts::EXE_SUFFIX)))
}

/// Where cargo puts what it builds.
pub(crate) fn target() -> Result<PathBuf> {
    let metadata = metadata(&["--no-deps"])?;
    Ok(metadata["target_directory"].as_str().context("cargo names no target folder")?.into())
}

/// What cargo knows about the workspace.
fn metadata(arguments: &[&str]) -> Result<serde_json::Value> {
    let output = cargo(&["metadata", "--format-version", "1", "--quiet"]).args(arguments).output()?;
    anyhow::ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).context("cargo metadata is no JSON")
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::collections::{BTreeMap, BTreeSet};

    /// The crates from the engine outwards: each may depend on those before it.
    const ARROWS: [&str; 4] = ["lookalike", "lookalike-io", "lookalike-cli", "lookalike-python"];

    /// What the engine may depend on, and through it: no formats, no network, no async, no printing.
    const ENGINE_MAY_USE: [&str; 10] = [
        "bytemuck",
        "memmap2",
        "rayon",
        "serde",
        "serde_json",
        "thiserror",
        "unicode-normalization",
        "unicode-properties",
        "unicode-script",
        "xxhash-rust",
    ];

    /// The direct dependencies of each crate of the workspace, apart from those of its tests.
    fn dependencies() -> BTreeMap<String, BTreeSet<String>> {
        let metadata = metadata(&["--no-deps"]).unwrap();
        let packages = metadata["packages"].as_array().unwrap();
        packages
            .iter()
            .map(|package| {
                let direct = package["dependencies"].as_array().unwrap().iter();
                let direct = direct.filter(|dependency| dependency["kind"].as_str() != Some("dev"));
                let names = direct.map(|dependency| dependency["name"].as_str().unwrap().to_string());
                (package["name"].as_str().unwrap().to_string(), names.collect())
            })
            .collect()
    }

    #[test]
    fn the_arrows_between_the_crates_hold() {
        let dependencies = dependencies();
        for (place, name) in ARROWS.iter().enumerate() {
            let Some(direct) = dependencies.get(*name) else { continue };
            for other in direct.iter().filter(|other| dependencies.contains_key(*other)) {
                let allowed = &ARROWS[..place];
                assert!(allowed.contains(&other.as_str()), "{name} must not depend on {other}");
            }
        }
        for name in ["lookalike-io", "lookalike-cli"] {
            assert!(dependencies[name].contains("lookalike"), "{name} is built on the engine");
        }
    }

    #[test]
    fn the_engine_depends_on_nothing_that_it_should_not() {
        for dependency in &dependencies()["lookalike"] {
            assert!(
                ENGINE_MAY_USE.contains(&dependency.as_str()),
                "the engine has a new dependency, {dependency}: if it brings no format, network, async or printing, \
                 add it to the list here"
            );
        }
    }
}
