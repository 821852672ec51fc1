// The backward pass: nodes in reverse order of creation, each once all gradients of its outputs are there.
#include <algorithm>
#include <cstddef>
#include <queue>
#include <unordered_map>
#include <utility>

#include "libamp/autograd/autograd.h"
#include "libamp/autograd/gradient.h"
#include "libamp/core/observer.h"
#include "libamp/core/step_clock.h"
#include "libamp/dispatch/announce.h"
#include "libamp/dispatch/run_op.h"
#include "libamp/dispatch/tape_note.h"
#include "libamp/ops/sparse.h"

namespace amp {
namespace {

struct Later {
  bool operator()(const std::shared_ptr<Node>& a, const std::shared_ptr<Node>& b) const {
    return a->sequence < b->sequence;
  }
};

// Guards a leaf's .grad: threads that share parameters may all deliver to it.
std::mutex& gradient_mutex(const TensorImpl* leaf) {
  static std::mutex mutexes[64];
  return mutexes[reinterpret_cast<std::uintptr_t>(leaf) / alignof(std::max_align_t) % 64];
}

// The buffer of a gradient that nobody else holds becomes .grad itself; else a copy does.
Tensor own_gradient(const Tensor& gradient) {
  const long holders = gradient.impl()->storage.use_count();
  if (gradient.is_sparse()) {
    const Tensor& values = gradient.impl()->sparse->values;
    // The memory is held by the tensor and by its values.
    const bool only_ours = gradient.impl_ptr().use_count() == 1 && values.impl_ptr().use_count() == 1 && holders == 2;
    return with_values(gradient, only_ours && values.is_contiguous() ? values : values.clone());
  }
  const bool only_ours = gradient.impl_ptr().use_count() == 1 && holders == 1;
  return only_ours && gradient.is_contiguous() ? gradient.detach() : gradient.detach().clone();
}

// What a run wants done when it is over.
struct Running {
  bool capturing;
  std::vector<std::function<void()>> callbacks;
};
thread_local Running* running = nullptr;

// Makes a run the current one of its thread while it lives; runs inside runs are stacked.
class RunningScope {
 public:
  explicit RunningScope(bool capturing) : own_{capturing, {}}, before_(std::exchange(running, &own_)) {}
  ~RunningScope() {
    running = before_;
    for (const auto& callback : own_.callbacks) {
      try {
        callback();
      } catch (...) {
        // The error that ended the run is the one to report.
      }
    }
  }
  /// The end of a run that did not fail.
  void finish() {
    for (const auto& callback : std::exchange(own_.callbacks, {})) callback();
  }
  RunningScope(const RunningScope&) = delete;
  RunningScope& operator=(const RunningScope&) = delete;

 private:
  Running own_;
  Running* before_;
};

// One run of the engine. For grad(), `targets` are the inputs whose gradients are wanted; leaves are then left alone.
class Run {
 public:
  Run(bool retain_graph, bool create_graph) : retain_graph_(retain_graph), create_graph_(create_graph) {}

  void want(const Tensors& inputs) {
    capturing_ = true;
    captured_.resize(inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Edge edge = edge_of(inputs[i]);
      if (!edge.valid())
        fail(ErrorCode::runtime, "grad",
             "input " + std::to_string(i) + " does not require a gradient: got " + describe(inputs[i]));
      if (edge.leaf)
        leaf_targets_[edge.leaf.get()].push_back(i);
      else
        node_targets_[edge.node.get()].push_back({edge.output, i});
    }
  }

  void start(const Tensors& roots, const Tensors& grads, const char* where) {
    for (std::size_t i = 0; i < roots.size(); ++i) {
      const Edge edge = edge_of(roots[i]);
      if (!edge.valid())
        fail(ErrorCode::runtime, where,
             "the tensor does not require a gradient and has no graph: got " + describe(roots[i]));
      roots_.emplace_back(edge, root_gradient(roots[i], i < grads.size() ? grads[i] : Tensor(), where));
    }
    collect();
    for (auto& [edge, gradient] : roots_) deliver(edge, gradient, nullptr);
    roots_.clear();
  }

  void run() {
    const GradModeScope mode(create_graph_);
    RunningScope scope(capturing_);
    while (!ready_.empty()) {
      const std::shared_ptr<Node> node = ready_.top();
      ready_.pop();
      visit(node);
    }
    scope.finish();
  }

  Tensors captured_;

 private:
  struct Pending {
    int missing = 0;  // edges whose gradient has not come yet
    bool needed = true;
    Tensors grads;
  };

  static Tensor root_gradient(const Tensor& root, const Tensor& given, const char* where) {
    if (given.defined()) {
      if (!(given.sizes() == root.sizes()))
        fail(ErrorCode::runtime, where,
             "gradient has the wrong shape: got " + describe(given) + ", need " + to_string(root.sizes()));
      return given.dtype() == root.dtype() ? given : cast(given, root.dtype(), CastKind::gradient, OpId::none);
    }
    if (root.numel() != 1)
      fail(ErrorCode::runtime, where,
           "a gradient can be left out only for tensors of one element: got " + describe(root));
    return full(root.sizes(), 1, {.dtype = root.dtype(), .device = root.device()});
  }

  // Finds all nodes, how many gradients each waits for, and (for grad()) which of them lead to a target.
  void collect() {
    std::vector<std::shared_ptr<Node>> all, stack;
    const auto add = [&](const std::shared_ptr<Node>& node) {
      if (node && pending_.try_emplace(node.get()).second) {
        all.push_back(node);
        stack.push_back(node);
      }
    };
    for (const auto& [edge, gradient] : roots_) {
      add(edge.node);
      if (edge.node) ++pending_[edge.node.get()].missing;
    }
    while (!stack.empty()) {
      const std::shared_ptr<Node> node = std::move(stack.back());
      stack.pop_back();
      for (const Edge& edge : node->inputs) {
        add(edge.node);
        if (edge.node) ++pending_[edge.node.get()].missing;
      }
    }
    if (!capturing_) return;
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a->sequence < b->sequence; });
    for (const auto& node : all) {
      bool needed = false;
      for (const Edge& edge : node->inputs)
        needed = needed || (edge.leaf && leaf_targets_.contains(edge.leaf.get())) ||
                 (edge.node && (pending_[edge.node.get()].needed || node_targets_.contains(edge.node.get())));
      pending_[node.get()].needed = needed;
    }
  }

  void deliver(const Edge& edge, Tensor gradient, const Node* from) {
    if (edge.leaf) {
      if (gradient.defined()) deliver_to_leaf(edge.leaf, std::move(gradient), from);
      return;
    }
    if (!edge.node) return;
    Pending& pending = pending_.at(edge.node.get());
    pending.grads.resize(edge.node->outputs.size());
    Tensor& slot = pending.grads[edge.output];
    if (gradient.defined()) slot = slot.defined() ? sum_of(slot, gradient) : std::move(gradient);
    if (--pending.missing == 0) ready_.push(edge.node);
  }

  // What a hook returns takes the place of the gradient.
  template <typename Whose>
  static void check_replaced(const Tensor& replaced, const Tensor& gradient, Whose whose) {
    if (!(replaced.sizes() == gradient.sizes()) || !replaced.is_floating_point())
      fail(ErrorCode::runtime, "register_hook",
           "the hook of " + whose() + " returned a wrong gradient: got " + describe(replaced) + ", need " +
               describe(gradient));
  }

  void deliver_to_leaf(const std::shared_ptr<TensorImpl>& impl, Tensor gradient, const Node* from) {
    const Tensor leaf{impl};
    AutogradMeta& meta = autograd_meta(leaf);
    if (gradient.dtype() != leaf.dtype())
      gradient = cast(gradient, leaf.dtype(), CastKind::gradient, from != nullptr ? from->op : OpId::none);
    for (const auto& hook : meta.leaf_hooks)
      if (Tensor replaced = hook(gradient); replaced.defined()) {
        check_replaced(replaced, gradient, [&] {
          const std::string_view name = observe::text(meta.name);
          return name.empty() ? "leaf " + describe(leaf) : "leaf '" + std::string(name) + "'";
        });
        gradient = replaced;
      }
    if (observe::active() && step_clock::sampled() && meta.name != 0 && !(from != nullptr && from->op == OpId::to))
      announce::tensor_stats(gradient, meta.name, TensorRole::gradient, OpId::none, announce::loss_scale());
    if (capturing_) {
      const auto found = leaf_targets_.find(impl.get());
      if (found == leaf_targets_.end()) return;
      for (const std::size_t i : found->second)
        captured_[i] = captured_[i].defined() ? sum_of(captured_[i], gradient) : gradient;
      return;
    }
    {
      const std::lock_guard lock(gradient_mutex(impl.get()));
      accumulate(meta, std::move(gradient));
    }
    for (const auto& hook : meta.post_accumulate_hooks) hook(leaf);
  }

  // Sparse gradients add up to a sparse one, with a dense one to a dense one.
  static Tensor sum_of(const Tensor& a, const Tensor& b) {
    if (!a.is_sparse() && !b.is_sparse()) return a + b;
    return a.is_sparse() && !b.is_sparse() ? sparse_add(b, a) : sparse_add(a, b);
  }

  void accumulate(AutogradMeta& meta, Tensor gradient) const {
    if (!meta.grad.defined()) {
      meta.grad = create_graph_ ? gradient : own_gradient(gradient);
      meta.grad.impl()->storage->set_cause(MemoryCause::gradients);
    } else if (create_graph_ || meta.grad.is_sparse()) {
      meta.grad = sum_of(meta.grad, gradient);
    } else {
      const no_grad quiet;
      meta.grad.add_(gradient);
    }
  }

  void visit(const std::shared_ptr<Node>& node) {
    Pending pending = std::move(pending_.at(node.get()));
    pending.grads.resize(node->outputs.size());
    for (const auto& [output, hook] : node->hooks)
      if (Tensor& slot = pending.grads[output]; slot.defined())
        if (Tensor replaced = hook(slot); replaced.defined()) {
          check_replaced(replaced, slot,
                         [&] { return "output " + std::to_string(output) + " of " + std::string(name_of(*node)); });
          slot = replaced;
        }
    if (const auto found = node_targets_.find(node.get()); found != node_targets_.end())
      for (const auto& [output, i] : found->second) captured_[i] = pending.grads[output];
    const bool nothing =
        std::none_of(pending.grads.begin(), pending.grads.end(), [](const Tensor& g) { return g.defined(); });
    Tensors input_grads;
    if (!nothing && pending.needed) {
      const ContextScope<StringId> module(&Context::module_path, node->module_path);
      observe_gradient(*node, pending.grads[0]);
      input_grads = differentiate(node, std::move(pending.grads));
    }
    input_grads.resize(node->inputs.size());
    for (std::size_t i = 0; i < node->inputs.size(); ++i) {
      if (!node->inputs[i].valid()) continue;
      Tensor gradient = std::move(input_grads[i]);
      if (gradient.defined()) gradient = fit(std::move(gradient), *node, i);
      deliver(node->inputs[i], std::move(gradient), node.get());
    }
    if (!retain_graph_ && !nothing && pending.needed) release(*node);
  }

  // A weight's half precision gradient is seen here, before the cast's gradient widens it.
  static void observe_gradient(const Node& node, const Tensor& gradient) {
    if (!observe::active() || !step_clock::sampled() || !gradient.defined()) return;
    StringId leaf_name = 0;
    if (node.op == OpId::to && node.inputs[0].leaf && node.inputs[0].leaf->autograd)
      leaf_name = node.inputs[0].leaf->autograd->name;
    if (leaf_name != 0)
      announce::tensor_stats(gradient, leaf_name, TensorRole::gradient, node.op, announce::loss_scale());
    else if (node.op != OpId::to && node.op != OpId::none && op_info(node.op).cost_name != "free")
      announce::tensor_stats(gradient, output_name(node.module_path, node.op), TensorRole::activation_gradient, node.op,
                             announce::loss_scale());
  }

  static Tensors differentiate(const std::shared_ptr<Node>& node, Tensors grads) {
    if (node->released)
      fail(ErrorCode::runtime, name_of(*node),
           "trying to backward through the graph a second time: its saved tensors were freed; need retain_graph = true "
           "in the first backward");
    if (node->custom) return node->custom(grads);
    const GradientFormula formula = gradient_formula(node->op);
    if (formula == nullptr)
      fail(ErrorCode::not_implemented, op_info(node->op).name, "has no gradient: it cannot be differentiated again");
    return formula(GradCall(node, std::move(grads)));
  }

  // Brings a gradient to the shape and dtype of the input it is for.
  static Tensor fit(Tensor gradient, const Node& node, std::size_t i) {
    if (gradient.is_sparse()) return fit_sparse(gradient, node, i);
    if (!(gradient.sizes() == node.input_sizes[i])) gradient = sum_to_size(gradient, node.input_sizes[i]);
    if (gradient.dtype() == node.input_dtypes[i]) return gradient;
    return cast(gradient, node.input_dtypes[i], CastKind::gradient, node.op == OpId::to ? node.cast_cause : node.op);
  }

  static Tensor fit_sparse(const Tensor& gradient, const Node& node, std::size_t i) {
    if (!(gradient.sizes() == node.input_sizes[i]))
      fail(ErrorCode::runtime, name_of(node),
           "a sparse gradient has the wrong shape: got " + describe(gradient) + ", need " +
               to_string(node.input_sizes[i]));
    if (gradient.dtype() == node.input_dtypes[i]) return gradient;
    return with_values(gradient, cast(gradient.values(), node.input_dtypes[i], CastKind::gradient, node.op));
  }

  static void release(Node& node) {
    std::vector<SavedTensor> freed;  // dies after the lock is given back: it may be long
    const std::lock_guard lock(saved_tensors_mutex(node));
    for (auto* list : {&node.saved_inputs, &node.saved_outputs})
      for (auto& saved : *list) {
        if (!saved.impl && !saved.packed) continue;
        node.released = true;
        freed.push_back(std::exchange(saved, {}));
      }
  }

  bool retain_graph_, create_graph_, capturing_ = false;
  std::vector<std::pair<Edge, Tensor>> roots_;
  std::unordered_map<Node*, Pending> pending_;
  std::priority_queue<std::shared_ptr<Node>, std::vector<std::shared_ptr<Node>>, Later> ready_;
  std::unordered_map<TensorImpl*, std::vector<std::size_t>> leaf_targets_;
  std::unordered_map<Node*, std::vector<std::pair<std::uint32_t, std::size_t>>> node_targets_;
};

}  // namespace

bool is_capturing() noexcept { return running != nullptr && running->capturing; }

void queue_callback(std::function<void()> callback) {
  if (running == nullptr)
    fail(ErrorCode::runtime, "queue_callback", "no backward is running in this thread: need a call from inside one");
  running->callbacks.push_back(std::move(callback));
}

void backward(const Tensors& tensors, const Tensors& grad_tensors, bool retain_graph, bool create_graph) {
  const PhaseScope phase(&Context::phase, Phase::backward);
  const CauseScope cause(&Context::cause, MemoryCause::gradients);
  Run run(retain_graph || create_graph, create_graph);
  run.start(tensors, grad_tensors, "backward");
  run.run();
}

Tensors grad(const Tensors& outputs, const Tensors& inputs, const Tensors& grad_outputs, bool retain_graph,
             bool create_graph, bool allow_unused) {
  const PhaseScope phase(&Context::phase, Phase::backward);
  const CauseScope cause(&Context::cause, MemoryCause::gradients);
  Run run(retain_graph || create_graph, create_graph);
  run.want(inputs);
  run.start(outputs, grad_outputs, "grad");
  run.run();
  for (std::size_t i = 0; i < inputs.size() && !allow_unused; ++i)
    if (!run.captured_[i].defined())
      fail(ErrorCode::runtime, "grad",
           "input " + std::to_string(i) + " appears not to have been used in the graph: got " + describe(inputs[i]) +
               "; need allow_unused = true if that is meant");
  return std::move(run.captured_);
}

}  // namespace amp
