//! Which output each input gets, checked before anything is written.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use crate::compression::Compression;
use crate::error::{Error, Result, Shown};
use crate::input::Input;

/// Whether the inputs that `arguments` named are written to a folder: several are, and so is what was in a folder.
pub fn is_folder_output(arguments: &[PathBuf], inputs: &[Input]) -> bool {
    inputs.len() > 1 || arguments.iter().any(|argument| argument.is_dir())
}

/// The output of each input: the file `output`, or, `into_folder`, a file under it with the input's relative path.
///
/// It is an error if two inputs would be written to one place or if an input would be overwritten.
pub fn plan_outputs(inputs: &[Input], output: &Path, into_folder: bool) -> Result<Vec<PathBuf>> {
    if into_folder && output.exists() && !output.is_dir() {
        return Err(Error::new(format!("the output {} is a file", Shown(output)))
            .at_file(output)
            .advise("several inputs are written to a folder: name one"));
    }
    let outputs: Vec<PathBuf> = inputs
        .iter()
        .map(|input| if into_folder { output.join(relative(input)) } else { output.to_path_buf() })
        .collect();
    refuse_clashes(inputs, &outputs)?;
    refuse_overwriting(inputs, &outputs)?;
    Ok(outputs)
}

fn relative(input: &Input) -> PathBuf {
    if !input.is_stdin() {
        return input.relative.clone();
    }
    let ending = match input.compression {
        Compression::None => "",
        Compression::Gzip => ".gz",
        Compression::Zstd => ".zst",
    };
    format!("stdin.{}{ending}", input.format).into()
}

fn refuse_clashes(inputs: &[Input], outputs: &[PathBuf]) -> Result<()> {
    let clash = |input: &Input, other: &Input, output: &Path| {
        let (left, right) = (Shown(&input.name), Shown(&other.name));
        Error::new(format!("{left} and {right} would both be written to {}", Shown(output)))
            .advise("give the folder above both as the input, or a pattern in quotes, so that their paths stay apart")
    };
    let mut taken: HashMap<&Path, &Input> = HashMap::new();
    for (input, output) in inputs.iter().zip(outputs) {
        if let Some(other) = taken.insert(output, input) {
            return Err(clash(other, input, output));
        }
    }
    for (input, output) in inputs.iter().zip(outputs) {
        let folder = output.ancestors().skip(1).find_map(|folder| Some((folder, taken.get(folder)?)));
        if let Some((folder, other)) = folder {
            return Err(clash(other, input, folder));
        }
    }
    Ok(())
}

/// Refuses outputs that would take the place of an input.
pub fn refuse_overwriting<P: AsRef<Path>>(inputs: &[Input], outputs: &[P]) -> Result<()> {
    let sources: HashSet<PathBuf> = inputs.iter().filter_map(|input| input.path.canonicalize().ok()).collect();
    let mut outputs = outputs.iter().map(AsRef::as_ref);
    match outputs.find(|output| output.canonicalize().is_ok_and(|output| sources.contains(&output))) {
        Some(output) => Err(Error::new(format!("the output {} is one of the inputs", Shown(output)))
            .at_file(output)
            .advise("name another output, and replace the input by hand once it is there")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve::Inputs;
    use std::fs;

    #[test]
    fn relative_paths_are_kept_and_clashes_found() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        for path in ["x/a.txt", "x/sub/b.txt", "y/a.txt", "z/sub"] {
            fs::create_dir_all(at(path).parent().unwrap()).unwrap();
            fs::write(at(path), "t").unwrap();
        }
        let inputs = |paths: &[&str]| {
            let paths: Vec<PathBuf> = paths.iter().map(|path| at(path)).collect();
            (Inputs::resolve(&paths, None, folder.path()).unwrap(), paths)
        };
        let (x, arguments) = inputs(&["x"]);
        assert!(is_folder_output(&arguments, &x));
        assert_eq!(plan_outputs(&x, &at("out"), true).unwrap(), [at("out/a.txt"), at("out/sub/b.txt")]);
        let fail = |paths: &[&str], output: &str, into_folder| {
            plan_outputs(&inputs(paths).0, &at(output), into_folder).unwrap_err().to_string()
        };
        assert!(fail(&["x", "y"], "out", true).contains("would both be written to"));
        assert!(fail(&["x", "z/sub"], "out", true).contains("would both be written to"));
        assert!(fail(&["x"], "x", true).contains("is one of the inputs"));
        assert!(fail(&["x/a.txt"], "x/sub/../a.txt", false).contains("is one of the inputs"));
        assert!(fail(&["x"], "y/a.txt", true).contains("is a file"));
    }
}
