// doubles/metal/runtime.cpp: the functions of libobjc that the double has.
#include "doubles/metal/runtime.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "doubles/metal/control.hpp"
#include "doubles/metal/counts.hpp"
#include "doubles/metal/stop.hpp"

#define METAL_DOUBLE_CALL extern "C" __attribute__((visibility("default")))

namespace metal_double {
namespace {

/// Knows which objects there are. It is never destroyed, as objects may go when static objects do.
struct all_objects {
    std::mutex mutex;
    std::unordered_map<const void*, const type*> alive;
};
all_objects& objects() {
    static auto* const only = new all_objects;
    return *only;
}

thread_local std::vector<std::vector<object*>> pools;

class string final : public object {
public:
    explicit string(std::string text) : object(about), text_(std::move(text)) {}
    const std::string& text() const { return text_; }

    static const type about;

private:
    std::string text_;
};

class error final : public object {
public:
    error(long code, std::string description) : object(about), code_(code), description_(std::move(description)) {}

    static long code(error* self, selector*) { return self->code_; }
    static object* localized_description(error* self, selector*) {
        return autoreleased(new_string(self->description_));
    }

    static const type about;

private:
    long code_;
    std::string description_;
};

const char* utf8_string(string* self, selector*) { return self->text().c_str(); }
object* string_with_utf8_string(object*, selector*, const char* text) { return autoreleased(new_string(text)); }

const type string::about{"NSString", {{"UTF8String", method_of(utf8_string)}}};
const type error::about{
    "NSError", {{"code", method_of(&error::code)}, {"localizedDescription", method_of(&error::localized_description)}}};
const type string_class{"Class NSString", {{"stringWithUTF8String:", method_of(string_with_utf8_string)}}};

long answer_nothing() { return 0; }

}  // namespace

object::object(const type& of) : of_(of) {
    const std::lock_guard lock(objects().mutex);
    objects().alive[this] = &of_;
}

object::~object() {
    const std::lock_guard lock(objects().mutex);
    objects().alive.erase(this);
}

void object::release() {
    const long left = --references_;
    if (left < 0) stop("an object of class %s was released more often than it was retained", of_.name);
    if (left == 0) delete this;
}

void check_alive(const void* object) {
    const std::lock_guard lock(objects().mutex);
    if (!objects().alive.contains(object)) stop("a message was sent to %p, which is no object, or was one", object);
}

object* autoreleased(object* made) {
    if (pools.empty()) stop("an object of class %s is autoreleased on a thread without a pool", made->of().name);
    pools.back().push_back(made);
    return made;
}

object* new_string(std::string text) { return new string(std::move(text)); }
object* new_error(long code, std::string description) { return new error(code, std::move(description)); }
const std::string& text_of(object* of) { return static_cast<string*>(of)->text(); }

std::size_t count_objects(const char* name) {
    const std::lock_guard lock(objects().mutex);
    return static_cast<std::size_t>(std::ranges::count_if(
        objects().alive, [&](const auto& each) { return !name || std::strcmp(each.second->name, name) == 0; }));
}

}  // namespace metal_double

using namespace metal_double;

METAL_DOUBLE_CALL selector* sel_registerName(const char* name) {
    static auto* const mutex = new std::mutex;
    static auto* const all = new std::map<std::string, selector>;
    const std::lock_guard lock(*mutex);
    return &all->try_emplace(name, selector{name}).first->second;
}

METAL_DOUBLE_CALL void* objc_getClass(const char* name) {
    static auto* const strings = new object(string_class);
    return std::strcmp(name, "NSString") == 0 ? strings : nullptr;
}

METAL_DOUBLE_CALL void* objc_retain(void* of) {
    if (!of) return nullptr;
    check_alive(of);
    static_cast<object*>(of)->retain();
    return of;
}

METAL_DOUBLE_CALL void objc_release(void* of) {
    if (!of) return;
    check_alive(of);
    static_cast<object*>(of)->release();
}

METAL_DOUBLE_CALL void* objc_autoreleasePoolPush() {
    pools.emplace_back();
    return reinterpret_cast<void*>(pools.size());
}

METAL_DOUBLE_CALL void objc_autoreleasePoolPop(void* pushed) {
    if (pools.empty() || pushed != reinterpret_cast<void*>(pools.size())) {
        stop("a pool is popped on another thread than it was pushed on, or before a newer one");
    }
    // The end of an object may hand others to the pool.
    while (!pools.back().empty()) {
        object* const last = pools.back().back();
        pools.back().pop_back();
        last->release();
    }
    pools.pop_back();
}

/// Returns the method for a message. Only objc_msgSend calls this.
extern "C" __attribute__((visibility("hidden"), used)) method* metal_double_method(object* to, selector* name) {
    if (!to) return method_of(answer_nothing);
    check_alive(to);
    const auto found = to->of().methods.find(name->name);
    if (found == to->of().methods.end()) stop("-[%s %s]: unrecognized selector", to->of().name, name->name.c_str());
    return found->second;
}

// Finds the method, and jumps to it with all arguments as they are.
#if defined(__x86_64__)
asm(R"(
    .text
    .globl objc_msgSend
    .type objc_msgSend, @function
objc_msgSend:
    push %rdi
    push %rsi
    push %rdx
    push %rcx
    push %r8
    push %r9
    sub $8, %rsp
    call metal_double_method
    mov %rax, %r11
    add $8, %rsp
    pop %r9
    pop %r8
    pop %rcx
    pop %rdx
    pop %rsi
    pop %rdi
    jmp *%r11
    .size objc_msgSend, .-objc_msgSend
)");
#elif defined(__aarch64__)
asm(R"(
    .text
    .globl objc_msgSend
    .type objc_msgSend, %function
objc_msgSend:
    stp x29, x30, [sp, #-96]!
    stp x0, x1, [sp, #16]
    stp x2, x3, [sp, #32]
    stp x4, x5, [sp, #48]
    stp x6, x7, [sp, #64]
    str x8, [sp, #80]
    bl metal_double_method
    mov x16, x0
    ldp x0, x1, [sp, #16]
    ldp x2, x3, [sp, #32]
    ldp x4, x5, [sp, #48]
    ldp x6, x7, [sp, #64]
    ldr x8, [sp, #80]
    ldp x29, x30, [sp], #96
    br x16
    .size objc_msgSend, .-objc_msgSend
)");
#else
#error "the double of objc_msgSend is written for x86-64 and aarch64"
#endif
