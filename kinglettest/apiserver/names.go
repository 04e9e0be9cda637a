package apiserver

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/api/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// nameRule returns the rule for the names of a kind, which is another one for the kinds that
// are named here: grep ValidateObjectMeta in k8s.io/kubernetes/pkg/apis.
func (r *Resource) nameRule(v Version) validation.ValidateNameFunc {
	switch r.gvk().GroupKind().String() {
	case "Event", "APIService.apiregistration.k8s.io", "CertificateSigningRequest.certificates.k8s.io", "PodDisruptionBudget.policy":
		return pathSegment
	case "Role.rbac.authorization.k8s.io", "ClusterRole.rbac.authorization.k8s.io",
		"RoleBinding.rbac.authorization.k8s.io", "ClusterRoleBinding.rbac.authorization.k8s.io":
		return func(name string, _ bool) []string { return content.IsPathSegmentName(name) }
	case "ReplicationController", "DeviceClass.resource.k8s.io":
		return func(name string, prefix bool) []string {
			if prefix {
				return nil // only the name that is made of it counts
			}
			return validation.NameIsDNSSubdomain(name, false)
		}
	case "Namespace", "StatefulSet.apps":
		return validation.NameIsDNSLabel
	case "Service":
		if v < V136 { // gate RelaxedServiceNameValidation
			return validation.NameIsDNS1035Label
		}
		return validation.NameIsDNSLabel
	case "CronJob.batch": // those of its jobs are eleven longer
		return func(name string, prefix bool) []string {
			why := validation.NameIsDNSSubdomain(name, prefix)
			if !prefix && len(name) > 52 {
				why = append(why, "must be no more than 52 characters")
			}
			return why
		}
	case "ClusterTrustBundle.certificates.k8s.io": // SIGNER:NAME
		return func(name string, prefix bool) []string {
			return append(pathSegment(name, prefix), validation.NameIsDNSSubdomain(name[strings.LastIndex(name, ":")+1:], prefix)...)
		}
	case "LeaseCandidate.coordination.k8s.io":
		return func(name string, _ bool) []string { return utilvalidation.IsConfigMapKey(name) }
	case "IPAddress.networking.k8s.io":
		return func(name string, _ bool) (why []string) {
			for _, err := range utilvalidation.IsValidIP(field.NewPath(""), name) {
				why = append(why, err.Detail)
			}
			return why
		}
	}
	return validation.NameIsDNSSubdomain
}

// pathSegment is the rule for names that any request can have in its path.
func pathSegment(name string, prefix bool) []string {
	if prefix {
		return content.IsPathSegmentPrefix(name)
	}
	return content.IsPathSegmentName(name)
}

// generated returns the name that is made of a prefix at a revision, which makes it unique. It
// has the form of a real server's, which appends five random characters of the same alphabet:
// k8s.io/apiserver/pkg/storage/names.
func (r *Resource) generated(prefix string, revision int64) string {
	if r.gvk().GroupKind().String() == "IPAddress.networking.k8s.io" {
		return prefix
	}
	const alphabet = "bcdfghjklmnpqrstvwxz2456789" // of k8s.io/apimachinery/pkg/util/rand
	var suffix [5]byte
	for i := range suffix {
		suffix[len(suffix)-1-i] = alphabet[revision%int64(len(alphabet))]
		revision /= int64(len(alphabet))
	}
	return prefix[:min(len(prefix), 63-len(suffix))] + string(suffix[:])
}
