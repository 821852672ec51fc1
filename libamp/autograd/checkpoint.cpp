// Running a stretch again. Without reentrance each saved tensor is replaced by a handle on a numbered slot of the
// stretch's frame; the first handle that is asked runs the function again and collects what its ops save, in the same
// order, into the slots (the scheme of torch/utils/checkpoint.py).
#include "libamp/autograd/checkpoint.h"

#include <algorithm>
#include <mutex>

#include "libamp/autocast/scope.h"
#include "libamp/autograd/autograd.h"
#include "libamp/autograd/function.h"
#include "libamp/autograd/gradient.h"
#include "libamp/core/ambient.h"

namespace amp {
namespace {

/// What the first run had around it, for the second.
struct Surroundings {
  AutocastState autocast = autocast_state();
  StringId module_path = context().module_path;
  ambient::Enter modules = ambient::capture();
  Tensor rng;

  explicit Surroundings(const CheckpointOptions& options) {
    if (options.preserve_rng_state) rng = get_rng_state();
  }
};

class RngScope {
 public:
  explicit RngScope(const Tensor& state) {
    if (!state.defined()) return;
    before_ = get_rng_state();
    set_rng_state(state);
  }
  ~RngScope() {
    if (before_.defined()) set_rng_state(before_);
  }
  RngScope(const RngScope&) = delete;
  RngScope& operator=(const RngScope&) = delete;

 private:
  Tensor before_;
};

Tensors run_again(const CheckpointFunction& function, const Surroundings& first, const Tensors& inputs) {
  const PhaseScope phase(&Context::phase, Phase::recompute);
  const CauseScope cause(&Context::cause, MemoryCause::activations);
  const ContextScope<StringId> module(&Context::module_path, first.module_path);
  const std::shared_ptr<void> modules = first.modules ? first.modules() : nullptr;
  const AutocastReplay region(first.autocast);
  const RngScope rng(first.rng);
  const GradModeScope mode(true, false);
  return function(inputs);
}

Tensor fresh_leaf(const Tensor& input, bool requires_grad) {
  if (!input.defined()) return input;
  const Tensor leaf = input.detach();
  if (requires_grad) leaf.requires_grad_();
  return leaf;
}

class Frame;

/// Stands for one saved tensor of the first run.
class Handle final : public PackedTensor {
 public:
  Handle(std::shared_ptr<Frame> frame, std::size_t slot) : frame_(std::move(frame)), slot_(slot) {}
  ~Handle() override;
  Tensor unpack() override;

 private:
  std::shared_ptr<Frame> frame_;
  std::size_t slot_;
};

/// One checkpointed stretch. Kept alive by its handles alone, so it dies with the last node that needs it.
class Frame final : public SavedTensorHooks, public std::enable_shared_from_this<Frame> {
 public:
  Frame(CheckpointFunction function, const Tensors& inputs, const CheckpointOptions& options)
      : function_(std::move(function)), surroundings_(options) {
    // By way of the hooks of an outer stretch, if there is one: it will bring these inputs back as well.
    for (const Tensor& t : inputs) {
      inputs_.push_back(save_tensor(t, {}, OpId::none));
      requires_grad_.push_back(needs_gradient(t));
    }
  }

  std::shared_ptr<PackedTensor> pack(const Tensor& tensor, OpId op) override {
    auto handle = std::make_shared<Handle>(shared_from_this(), slots_.size());
    slots_.push_back({handle, op, tensor.sizes(), tensor.dtype(), {}, 0});
    return handle;
  }

  Tensor value(std::size_t slot) {
    const std::lock_guard lock(mutex_);
    if (!slots_[slot].value.defined()) recompute();
    const Slot& s = slots_[slot];
    if (!s.value.defined() || s.value.version() != s.version)
      fail(ErrorCode::runtime, "checkpoint",
           "a tensor saved by '" + std::string(op_info(s.op).name) + "' was changed in place by the recomputation");
    return s.value;
  }

  void drop(std::size_t slot) {
    const std::lock_guard lock(mutex_);
    slots_[slot].value = {};
  }

 private:
  struct Slot {
    std::weak_ptr<Handle> handle;
    OpId op;
    Shape sizes;
    DType dtype;
    Tensor value;
    std::uint32_t version;
  };

  // The hooks of the second run: keep what is saved, in order.
  class Collector final : public SavedTensorHooks {
   public:
    explicit Collector(Frame& frame) : frame_(frame) {}
    std::shared_ptr<PackedTensor> pack(const Tensor& tensor, OpId op) override {
      frame_.collect(next_++, tensor, op);
      return nullptr;
    }
    [[nodiscard]] std::size_t count() const { return next_; }

   private:
    Frame& frame_;
    std::size_t next_ = 0;
  };

  void collect(std::size_t i, const Tensor& tensor, OpId op) {
    if (i >= slots_.size()) return;  // counted, and refused at the end
    Slot& slot = slots_[i];
    const auto text = [](OpId id, const Shape& sizes, DType dtype) {
      return "'" + std::string(op_info(id).name) + "' saved " + std::string(name(dtype)) + to_string(sizes);
    };
    if (slot.op != op || slot.dtype != tensor.dtype() || !(slot.sizes == tensor.sizes()))
      fail(ErrorCode::runtime, "checkpoint",
           "the recomputation differs from the forward pass at saved tensor " + std::to_string(i) + ": got " +
               text(op, tensor.sizes(), tensor.dtype()) + ", need " + text(slot.op, slot.sizes, slot.dtype) +
               "; the function must do the same both times");
    if (slot.handle.expired()) return;
    slot.value = tensor.detach();
    slot.version = tensor.version();
  }

  void recompute() {
    // What a retained graph may need again is computed again.
    queue_callback([weak = weak_from_this()] {
      if (const auto frame = weak.lock()) {
        const std::lock_guard lock(frame->mutex_);
        for (Slot& slot : frame->slots_) slot.value = {};
      }
    });
    Tensors inputs;
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      inputs.push_back(fresh_leaf(unpack_saved(nullptr, inputs_[i], "checkpoint input", i), requires_grad_[i]));
    Collector collector(*this);
    {
      const SavedTensorHooksScope scope(&collector);
      run_again(function_, surroundings_, inputs);
    }
    if (collector.count() != slots_.size())
      fail(ErrorCode::runtime, "checkpoint",
           "the recomputation saved another number of tensors than the forward pass: got " +
               std::to_string(collector.count()) + ", need " + std::to_string(slots_.size()) +
               "; the function must do the same both times");
  }

  CheckpointFunction function_;
  Surroundings surroundings_;
  std::vector<SavedTensor> inputs_;
  std::vector<bool> requires_grad_;
  std::vector<Slot> slots_;
  std::recursive_mutex mutex_;  // two threads may back-propagate through one retained graph
};

Handle::~Handle() { frame_->drop(slot_); }
Tensor Handle::unpack() { return frame_->value(slot_); }

Tensors without_reentrance(const CheckpointFunction& function, const Tensors& inputs,
                           const CheckpointOptions& options) {
  const auto frame = std::make_shared<Frame>(function, inputs, options);
  const SavedTensorHooksScope scope(frame.get());
  return function(inputs);
}

Tensors with_reentrance(const CheckpointFunction& function, const Tensors& inputs, const CheckpointOptions& options) {
  autograd::FunctionCall call("checkpoint", inputs);
  const Surroundings surroundings(options);
  Tensors outputs;
  {
    const no_grad quiet;
    outputs = function(inputs);
  }
  call.context()->save_for_backward(inputs);
  call.context()->set_materialize_grads(false);
  return call.finish(std::move(outputs),
                     [function, surroundings](autograd::AutogradContext* ctx, const Tensors& grads) {
                       if (is_capturing())
                         fail(ErrorCode::runtime, "checkpoint",
                              "grad() cannot pass a reentrant checkpoint: need use_reentrant = false, "
                              "or backward()");
                       const Tensors saved = ctx->get_saved_variables();
                       Tensors leaves;
                       for (std::size_t i = 0; i < saved.size(); ++i)
                         leaves.push_back(fresh_leaf(saved[i], ctx->needs_input_grad(i)));
                       const Tensors outputs_again = run_again(function, surroundings, leaves);
                       Tensors roots, root_grads;
                       for (std::size_t i = 0; i < outputs_again.size() && i < grads.size(); ++i)
                         if (needs_gradient(outputs_again[i]) && grads[i].defined()) {
                           roots.push_back(outputs_again[i]);
                           root_grads.push_back(grads[i]);
                         }
                       if (roots.empty())
                         fail(ErrorCode::runtime, "checkpoint",
                              "no output of the recomputation requires a gradient: the checkpoint is not necessary");
                       backward(roots, root_grads);
                       Tensors result;
                       for (const Tensor& leaf : leaves) result.push_back(leaf.defined() ? leaf.grad() : Tensor());
                       return result;
                     });
}

}  // namespace

Tensors checkpoint_list(const CheckpointFunction& function, const Tensors& inputs, const CheckpointOptions& options) {
  if (!grad_mode().enabled || grad_mode().inference) return function(inputs);
  return options.use_reentrant ? with_reentrance(function, inputs, options)
                               : without_reentrance(function, inputs, options);
}

Tensor checkpoint_sequential(const std::vector<std::function<Tensor(const Tensor&)>>& functions, std::int64_t segments,
                             const Tensor& input, const CheckpointOptions& options) {
  const auto count = static_cast<std::int64_t>(functions.size());
  if (segments < 1 || segments > count)
    fail(ErrorCode::value, "checkpoint_sequential",
         "wrong number of segments: got " + std::to_string(segments) + ", need 1 to " + std::to_string(count));
  const std::int64_t size = count / segments;
  const auto run = [&functions](std::int64_t begin, std::int64_t end) {
    return [stretch = std::vector(functions.begin() + begin, functions.begin() + end)](const Tensor& x) {
      Tensor y = x;
      for (const auto& f : stretch) y = f(y);
      return y;
    };
  };
  Tensor y = input;
  std::int64_t begin = 0;
  for (std::int64_t s = 0; s + 1 < segments; ++s, begin += size) y = checkpoint(run(begin, begin + size), y, options);
  return run(begin, count)(y);
}

}  // namespace amp
