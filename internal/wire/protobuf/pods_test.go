package protobuf

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinglet-go/kinglet/internal/testpods"
)

var podType = reflect.TypeFor[corev1.Pod]()

func podBytes(template, i, round int, unique bool) []byte {
	raw, err := testpods.Large(template, i, round, unique).Marshal()
	if err != nil {
		panic(err)
	}
	return raw
}
