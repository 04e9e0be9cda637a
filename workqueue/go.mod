module github.com/kinglet-go/kinglet/workqueue

go 1.26.0

require (
	github.com/kinglet-go/kinglet v0.1.0
	github.com/kinglet-go/kinglet/kinglettest v0.1.0
	go.uber.org/goleak v1.3.0
	golang.org/x/time v0.15.0
	k8s.io/apimachinery v0.37.2
	k8s.io/client-go v0.37.2
	k8s.io/klog/v2 v2.140.0
	k8s.io/utils v0.0.0-20260626114624-be93311217bd
)

require github.com/go-logr/logr v1.4.3 // indirect
