/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every key that labels use, as literals on purpose: a library's update must not rename what dashboards refer
 * to.  Attribute keys are those of the schema below.
 */
#ifndef RINGSIDE_LABELS_KEYS_H
#define RINGSIDE_LABELS_KEYS_H

#define LABELS_SCHEMA_URL "https://opentelemetry.io/schemas/1.37.0"

/* Attributes. */
#define KEY_SERVICE_NAME	"service.name"
#define KEY_PID			"process.pid"
#define KEY_PARENT_PID		"process.parent_pid"
#define KEY_EXE_PATH		"process.executable.path"
#define KEY_EXE_NAME		"process.executable.name"
#define KEY_EXE_GNU		"process.executable.build_id.gnu"
#define KEY_EXE_GO		"process.executable.build_id.go"
#define KEY_EXE_HTLHASH		"process.executable.build_id.htlhash"
#define KEY_COMMAND_LINE	"process.command_line"
#define KEY_WORKING_DIRECTORY	"process.working_directory"
#define KEY_CGROUP		"process.linux.cgroup"
#define KEY_ENVIRONMENT		"process.environment_variable."	/* + name */
#define KEY_HOST_NAME		"host.name"
#define KEY_HOST_ARCH		"host.arch"
#define KEY_OS_VERSION		"os.version"
#define KEY_CONTAINER_ID	"container.id"
#define KEY_CONTAINER_NAME	"container.name"
#define KEY_CONTAINER_LABEL	"container.label."		/* + key */
#define KEY_IMAGE_NAME		"container.image.name"
#define KEY_IMAGE_TAGS		"container.image.tags"
#define KEY_NODE_NAME		"k8s.node.name"
#define KEY_NODE_LABEL		"k8s.node.label."		/* + key */
#define KEY_NODE_ANNOTATION	"k8s.node.annotation."		/* + key */
#define KEY_NAMESPACE		"k8s.namespace.name"
#define KEY_POD_NAME		"k8s.pod.name"
#define KEY_POD_UID		"k8s.pod.uid"
#define KEY_POD_LABEL		"k8s.pod.label."		/* + key */
#define KEY_POD_ANNOTATION	"k8s.pod.annotation."		/* + key */
#define KEY_K8S_CONTAINER	"k8s.container.name"

/* Labels that are no attributes of the schema. */
#define LABEL_COMM		"comm"
#define LABEL_NODE		"node"
#define META			"__meta_"
#define META_ENV		"__meta_env_var_"		/* + name */
#define META_PID		"__meta_process_pid"
#define META_PPID		"__meta_process_ppid"
#define META_CMDLINE		"__meta_process_cmdline"
#define META_CGROUP		"__meta_process_cgroup"
#define META_EXE_FILE_ID	"__meta_process_executable_file_id"
#define META_EXE_NAME		"__meta_process_executable_name"
#define META_EXE_BUILD_ID	"__meta_process_executable_build_id"
#define META_EXE_COMPILER	"__meta_process_executable_compiler"
#define META_EXE_STATIC		"__meta_process_executable_static"
#define META_EXE_STRIPPED	"__meta_process_executable_stripped"
#define META_REVISION		"__meta_agent_revision"
#define META_KERNEL_RELEASE	"__meta_system_kernel_release"
#define META_KERNEL_MACHINE	"__meta_system_kernel_machine"
#define META_K8S		"__meta_kubernetes_"
#define META_DOCKER		"__meta_docker_"
#define META_CONTAINERD		"__meta_containerd_"
#define META_BUILDKIT_ID	"__meta_docker_build_kit_container_id"
#define META_LXC_ID		"__meta_lxc_container_id"

#endif
