package prometheus

import "github.com/kinglet-go/kinglet/internal/skew"

// See package skew.
const _ = skew.UpgradeAllModulesOfKingletTogether1
