// Package release knows the modules of this repository that are tagged, and what
// is left of each in its zip file.
//
// Its tests see them as somebody does who has nothing of this repository: they
// serve the working tree as a module proxy would after the next release, and let
// programs outside of it ask for them, each with the version of Kubernetes that
// it is on.
//
// One reads ARCHITECTURE.md, which names folders of all modules.
//
// Its commands: matrix builds each module, with its tests, and runs it with
// every version of Kubernetes that it says it works with; line makes the folder of a
// module's second line.
package release
