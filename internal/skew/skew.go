// Package skew makes modules of kinglet that do not fit together fail to compile,
// with a message that says what to do.
//
// cache, workqueue, prometheus and kinglettest are modules beside the root's and import
// its internal packages, which promise nothing, while the go command combines any
// version of one with any newer version of another. So each names the constant
// of the generation that it was written for. Whoever changes an internal package
// in such a way that the other modules have to change with it renames the
// constant here and there, as grpc does with its SupportPackageIsVersion.
package skew

// UpgradeAllModulesOfKingletTogether1 is the first generation. If the compiler
// calls it undefined, one module is newer than another:
//
//	go get -u github.com/kinglet-go/kinglet/...
const UpgradeAllModulesOfKingletTogether1 = true
