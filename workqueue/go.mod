module github.com/kinglet-go/kinglet/workqueue

go 1.25.0

require (
	github.com/kinglet-go/kinglet v0.1.0
	go.uber.org/goleak v1.3.0
	golang.org/x/time v0.9.0
	k8s.io/apimachinery v0.34.0
	k8s.io/client-go v0.34.0
	k8s.io/klog/v2 v2.130.1
	k8s.io/utils v0.0.0-20250604170112-4c0f3b243397
)

require github.com/go-logr/logr v1.4.2 // indirect
