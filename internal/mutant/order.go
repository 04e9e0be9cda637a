package mutant

// VersionsDecide drops an event of a watch whose version is not above the one
// before. The reflector's trials of random versions have to notice it: the
// server of the torture's numbers its events in their order, as real ones do.
const VersionsDecide Mutation = 3000
