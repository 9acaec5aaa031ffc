// SPDX-License-Identifier: Apache-2.0

package arch

// module is the import path of the repository's root.
const module = "aipub.io/aipub"

// A row says what one package is for and what of this module it may import,
// beside its own subfolders' parent. docs/architecture.md explains the rows.
type row struct {
	floor   int      // imports never run to a higher floor
	imports []string // packages of this module, relative to its root
	guarded []string // guarded libraries that it may use (see guards)
}

// rows is the one table. A package that has no row fails the test.
var rows = map[string]row{
	"gpu":          {floor: 0},
	"api/v1alpha1": {floor: 0},

	"gpu/choice":           {floor: 1, imports: []string{"gpu"}},
	"gpu/nvml":             {floor: 1, imports: []string{"gpu"}, guarded: []string{"go-nvml"}},
	"partitioner":          {floor: 1, imports: []string{"gpu", "api/v1alpha1"}},
	"partitioner/mig":      {floor: 1, imports: []string{"gpu", "partitioner"}, guarded: []string{"go-nvml"}},
	"partitioner/store":    {floor: 1, imports: []string{"gpu"}},
	"partitioner/kube":     {floor: 1, imports: []string{"gpu", "api/v1alpha1", "partitioner"}, guarded: []string{"controller-runtime"}},
	"node":                 {floor: 1, imports: []string{"gpu"}},
	"node/host":            {floor: 1},
	"node/activity":        {floor: 1, imports: []string{"gpu", "api/v1alpha1", "sharer/proc"}},
	"node/kube":            {floor: 1, imports: []string{"gpu", "api/v1alpha1"}, guarded: []string{"controller-runtime"}},
	"cdi":                  {floor: 1, imports: []string{"gpu"}},
	"cdi/driver":           {floor: 1, imports: []string{"gpu", "cdi"}, guarded: []string{"go-nvml"}},
	"cdi/preload":          {floor: 1},
	"cdi/specdir":          {floor: 1, imports: []string{"gpu", "cdi"}},
	"deviceplugin":         {floor: 1, imports: []string{"gpu"}},
	"deviceplugin/kubelet": {floor: 1, imports: []string{"gpu", "gpu/choice", "deviceplugin"}, guarded: []string{"grpc", "kubelet"}},
	"sharer":               {floor: 1, imports: []string{"gpu"}},
	"sharer/sim":           {floor: 1, imports: []string{"sharer"}},
	"sharer/wire":          {floor: 1},
	"sharer/memory":        {floor: 1, imports: []string{"gpu", "sharer"}},
	"sharer/checkpoint":    {floor: 1},
	"sharer/proc":          {floor: 1},
	"sharer/socket":        {floor: 1, imports: []string{"gpu", "sharer", "sharer/wire", "sharer/proc"}},
	"sharer/attach":        {floor: 1, imports: []string{"gpu", "sharer", "sharer/proc"}},
	"sharer/fence":         {floor: 1},

	"quota":                  {floor: 2, imports: []string{"gpu", "api/v1alpha1"}},
	"quota/storage":          {floor: 2, imports: []string{"api/v1alpha1", "quota"}},
	"quota/placement":        {floor: 2, imports: []string{"gpu", "gpu/choice", "api/v1alpha1", "partitioner"}},
	"quota/admission":        {floor: 2, imports: []string{"gpu", "api/v1alpha1", "partitioner", "quota", "quota/admission/claims", "quota/queue", "quota/storage"}, guarded: []string{"controller-runtime"}},
	"quota/admission/claims": {floor: 2, imports: []string{"quota/storage"}},
	"quota/admission/cert":   {floor: 2, guarded: []string{"controller-runtime"}},
	"quota/queue":            {floor: 2, imports: []string{"api/v1alpha1", "quota"}},
	"quota/kube":             {floor: 2, imports: []string{"api/v1alpha1", "quota", "quota/gate", "quota/objects", "quota/placement", "quota/storage"}, guarded: []string{"controller-runtime"}},
	"quota/objects":          {floor: 2, imports: []string{"api/v1alpha1", "quota", "quota/gate", "quota/placement"}},
	"quota/gate":             {floor: 2, imports: []string{"api/v1alpha1", "quota", "quota/queue", "quota/placement"}},

	"reclaim":            {floor: 3, imports: []string{"api/v1alpha1"}},
	"reclaim/workspace":  {floor: 3, imports: []string{"api/v1alpha1", "reclaim"}, guarded: []string{"controller-runtime"}},
	"reclaim/kube":       {floor: 3, imports: []string{"api/v1alpha1", "reclaim", "reclaim/workspace"}, guarded: []string{"controller-runtime"}},
	"reclaim/save":       {floor: 3, imports: []string{"api/v1alpha1"}, guarded: []string{"controller-runtime"}},
	"reclaim/containerd": {floor: 3, imports: []string{"api/v1alpha1"}, guarded: []string{"containerd", "grpc", "registry"}},

	"cmd/aipub-cdi-hook":   {floor: 9, imports: []string{"*"}},
	"cmd/aipub-node":       {floor: 9, imports: []string{"*"}, guarded: []string{"controller-runtime", "prometheus"}},
	"cmd/aipub-controller": {floor: 9, imports: []string{"*"}, guarded: []string{"controller-runtime", "prometheus"}},
	"cmd/kubectl-aipub":    {floor: 9, imports: []string{"*"}, guarded: []string{"controller-runtime"}},
}

// guards are the libraries that only some rows may import, by import prefix.
var guards = map[string][]string{
	"go-nvml":            {"github.com/NVIDIA/"},
	"grpc":               {"google.golang.org/grpc"},
	"kubelet":            {"k8s.io/kubelet/pkg/apis"},
	"containerd":         {"github.com/containerd/", "k8s.io/cri-api"},
	"registry":           {"github.com/google/go-containerregistry"},
	"controller-runtime": {"sigs.k8s.io/controller-runtime", "k8s.io/client-go"},
	"sql":                {"database/sql", "modernc.org/sqlite", "github.com/jackc/pgx"},
	"prometheus":         {"github.com/prometheus/client_golang"},
}

// Budgets, from the tail of the best code in this field.
const (
	maxFileLines     = 400
	maxFunctionLines = 80
)

// apiImports are the only modules that the API types may pull in, so that
// others can import them without pulling in the world.
var apiImports = []string{"k8s.io/apimachinery/"}
