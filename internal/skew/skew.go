// Package skew makes modules of kinglet that do not fit together fail to compile,
// with a message that says what to do.
//
// cache, workqueue, prometheus and kinglettest are modules separate from the root module
// and import its internal packages, which have no stable API, while the go command
// combines any version of one with any newer version of another. So each uses the constant
// of the generation that it was written for. A change of an internal package that
// requires changes in the other modules must rename the constant in all of them, as
// grpc does with its SupportPackageIsVersion.
package skew

// UpgradeAllModulesOfKingletTogether1 is the first generation. If the compiler
// calls it undefined, one module is newer than another:
//
//	go get -u github.com/kinglet-go/kinglet/...
const UpgradeAllModulesOfKingletTogether1 = true
