"""Runs a program of this folder as another one that does the same.

    varied.py PROGRAM KIND

In the function of that kind other names stand for its variables, numbers from a thousand on are three quarters of what they
were (what the program says about itself with them), and the body of each of its loops is a function of its own. Lines stay
where they are.
"""
import ast
import os
import sys

SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
LEAVES = (ast.Break, ast.Continue, ast.Return, ast.Yield, ast.YieldFrom, ast.Await)


def within(nodes):
    """What stands in statements, without the bodies of functions and classes."""
    for node in nodes:
        yield node
        if not isinstance(node, SCOPES):
            yield from within(ast.iter_child_nodes(node))


def bound(statements):
    """Names that statements give a value to."""
    names = set()
    for node in within(statements):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names.update((alias.asname or alias.name).split(".")[0] for alias in node.names)
    return names


class Renamed(ast.NodeTransformer):
    """Other names for variables and for functions inside; modules keep theirs."""

    def __init__(self, names):
        self.names = {name: f"other_{name}" for name in names}

    def visit_Name(self, node):
        node.id = self.names.get(node.id, node.id)
        return node

    def visit_arg(self, node):
        node.arg = self.names.get(node.arg, node.arg)
        return node

    def visit_Nonlocal(self, node):
        node.names = [self.names.get(name, name) for name in node.names]
        return node

    def visit_FunctionDef(self, node):
        node.name = self.names.get(node.name, node.name)
        return self.generic_visit(node)

    def visit_Constant(self, node):
        if isinstance(node.value, str):
            node.value = self.names.get(node.value, node.value)
        elif type(node.value) is int and node.value >= 1000:
            node.value = node.value * 3 // 4
        return node


class Apart(ast.NodeTransformer):
    """Bodies of loops become functions, called where they stood."""

    def __init__(self, names):
        self.names, self.count = names, 0

    def visit_FunctionDef(self, node):
        return node

    def visit_For(self, loop):
        if any(isinstance(node, LEAVES) for node in within(loop.body)) or loop.orelse:
            return loop
        self.count += 1
        name, shared = f"between_{self.count}", sorted(bound(loop.body) & self.names)
        body = ([ast.Nonlocal(names=shared)] if shared else []) + loop.body
        nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        function = ast.FunctionDef(name=name, args=nothing, body=body, decorator_list=[])
        call = ast.Expr(ast.Call(func=ast.Name(id=name, ctx=ast.Load()), args=[], keywords=[]))
        loop.body = [call]
        for made in (function, call):
            ast.fix_missing_locations(ast.copy_location(made, loop))
        return [function, loop]


def varied(function):
    inside = list(within(function.body))
    modules = bound([node for node in inside if isinstance(node, (ast.Import, ast.ImportFrom))])
    shared = {name for node in inside if isinstance(node, ast.Global) for name in node.names}
    names = bound(function.body) - modules - shared
    function.body = [Apart(names | modules).visit(statement) for statement in function.body]
    function.body = [each for some in function.body for each in (some if isinstance(some, list) else [some])]
    # A name that only the function of a loop gives a value to is still one of this function.
    places = [ast.Name(id=name, ctx=ast.Store()) for name in sorted(names | modules)]
    ghosts = [ast.Assign(targets=[place], value=ast.Constant(value=None)) for place in places]
    never = ast.If(test=ast.Constant(value=False), body=ghosts or [ast.Pass()], orelse=[])
    ast.copy_location(never, function.body[0])
    function.body.insert(0, ast.fix_missing_locations(never))
    return Renamed(names).visit(function)


program, kind = sys.argv[1:3]
program = os.path.join(os.path.dirname(os.path.abspath(__file__)), program)
with open(program) as file:
    tree = ast.parse(file.read(), program)
tree.body = [
    varied(each) if isinstance(each, ast.FunctionDef) and each.name == kind else each for each in tree.body
]
sys.argv = [program, kind]
__file__ = program
# Here, so that its variables live until the end of the script.
exec(compile(tree, program, "exec"), globals())
