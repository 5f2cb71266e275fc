// One function per command, each in a file of its own name. They return the exit code of the process.
#pragma once

#include "app/cli.h"

namespace outbox::app {

int execute(const RunFlags& flags);
int execute(const DemoFlags& flags);
int execute(const InitFlags& flags);
int execute(const CheckFlags& flags);
int execute(const SendFlags& flags);
int execute(const StatusFlags& flags);
int execute(const ListFlags& flags);
int execute(const ShowFlags& flags);
int execute(const RequeueFlags& flags);
int execute(const DiscardFlags& flags);
int execute(const PauseFlags& flags);
int execute(const ResumeFlags& flags);
int execute(const SinkForgetFlags& flags);
int execute(const PruneFlags& flags);
int execute(const ConfigLintFlags& flags);
int execute(const ConfigDocFlags& flags);
int execute(const ConfigSchemaFlags& flags);
int execute(const VersionFlags& flags);

}  // namespace outbox::app
